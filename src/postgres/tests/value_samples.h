#pragma once

#include <string_view>

// The types of the differential test, and how the server makes values of each.
namespace cdc::postgres {

// How the rendering of a type compares with to_jsonb.
enum class Rule {
  kText,           // the JSON string of the printed text
  kTextNotObject,  // the same, where to_jsonb would print an object: composites, hstore
  kExactNumber,    // byte for byte what to_jsonb prints
  kSameJson,       // the same JSON value: floats (to_jsonb writes them out), booleans, json, jsonb
  kTimestamp,      // ISO 8601
};

struct Sample {
  std::string_view type;
  Rule rule;
  std::string_view specials;  // a list of texts, put first
  std::string_view
      random;  // an expression over n, 0 to the number of values; printed and cast to type
  bool in_arrays = true;  // the type has an array type that array_agg may make
};

inline constexpr std::string_view kExtensions[] = {
    "hstore", "citext", "ltree", "cube", "seg", "isn", "intarray"};

inline constexpr std::string_view kTypeStatements[] = {
    "CREATE TYPE mood AS ENUM ('sad', 'it''s \"ok\"', 'with space', 'NULL', '')",
    "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
    "CREATE DOMAIN price AS numeric(12, 2)",
    "CREATE DOMAIN cheap AS price CHECK (VALUE < 100)",
    "CREATE DOMAIN words AS text[]",
    "CREATE DOMAIN numbers AS int8[]",
    "CREATE DOMAIN settings AS jsonb",
    "CREATE DOMAIN moment AS timestamptz",
    "CREATE DOMAIN flag AS bool",
    "CREATE DOMAIN feeling AS mood",
    "CREATE TYPE pair AS (a int, \"B c\" text)",
    "CREATE TYPE nested AS (p pair, list int[], at timestamptz)",
    "CREATE TYPE textrange AS RANGE (subtype = text, collation = \"C\")",
};

// Text that needs every kind of quoting, in arrays, composites and JSON.
#define CDC_SAMPLE_WORDS                                                                           \
  "left(repeat((ARRAY['a', '\"', E'\\\\', ',', '{', '}', ' ', E'\\n', E'\\t', 'é', '😀', 'NULL', " \
  "'(', '''', "                                                                                    \
  "E'\\x01', 'longer text here'])[1 + (random() * 15)::int], 1 + n % 3) || "                       \
  "(ARRAY['', 'z', '\"', E'\\\\'])[1 + n % 4] || md5(n::text), 1 + n % 40)"
#define CDC_SAMPLE_DOCUMENT                                                            \
  "jsonb_build_object('id', n, 'x', random()::numeric(20, 10), 'w', " CDC_SAMPLE_WORDS \
  ", 'list', jsonb_build_array(n, null, true, jsonb_build_object(" CDC_SAMPLE_WORDS ", n)))"
#define CDC_SAMPLE_MOMENT \
  "timestamptz '2000-01-01 00:00+00' + random() * interval '400 years' - interval '300 years'"
#define CDC_SAMPLE_BOUND(value, step) value ", " value " + " step

inline constexpr Sample kSamples[] = {
    // Numbers.
    {"int2", Rule::kExactNumber, "'-32768', '32767', '0'", "(random() * 65535)::int - 32768"},
    {"int4",
     Rule::kExactNumber,
     "'-2147483648', '2147483647', '0'",
     "((random() - 0.5) * 10 ^ (n % 10))::int"},
    {"int8",
     Rule::kExactNumber,
     "'-9223372036854775808', '9223372036854775807'",
     "((random() - 0.5) * 10 ^ (n % 19))::int8"},
    {"numeric",
     Rule::kExactNumber,
     "'NaN', '0', '-0.000', '1e-20', '1e40', 'Infinity', '-Infinity', '1.50'",
     "round(((random() - 0.5) * 10 ^ (n % 30))::numeric, n % 17)"},
    {"numeric(30, 10)", Rule::kExactNumber, "'NaN'", "(random() - 0.5) * 10 ^ (n % 20)"},
    {"float4",
     Rule::kSameJson,
     "'NaN', 'Infinity', '-Infinity', '-0', '1e-45', '3.4028235e38', '1e20'",
     "((random() - 0.5) * 10 ^ (n % 60 - 30))::float4"},
    {"float8",
     Rule::kSameJson,
     "'NaN', 'Infinity', '-Infinity', '-0', '5e-324', '1.7976931348623157e308', '1e15', '1e16', "
     "'0.1'",
     "(random() - 0.5) * 10 ^ (n % 300 - 150)"},
    {"bool", Rule::kSameJson, "'t', 'f'", "n % 2 = 0"},
    {"money",
     Rule::kText,
     "'-92233720368547758.08'",
     "((random() - 0.5) * 1000000)::numeric(12, 2)"},
    // Texts.
    {"text", Rule::kText, "'', 'NULL', 'null', E'\\r\\n'", CDC_SAMPLE_WORDS},
    {"varchar(20)", Rule::kText, "''", "left(" CDC_SAMPLE_WORDS ", 20)"},
    {"char(12)", Rule::kText, "''", "left(md5(n::text), n % 13)"},
    {"\"char\"", Rule::kText, "'\"', E'\\\\', ' '", "chr(33 + n % 90)"},
    {"name", Rule::kText, "''", CDC_SAMPLE_WORDS},
    {"bytea", Rule::kText, "''", "'\\x' || left(md5(n::text), 2 * (n % 16))"},
    {"citext", Rule::kText, "''", CDC_SAMPLE_WORDS},
    {"xml", Rule::kText, "'<a/>'", "'<a b=\"' || n || '\">' || E'\\n' || md5(n::text) || '</a>'"},
    {"jsonpath", Rule::kText, "'$'", "'$.a' || n || '[*] ? (@ > ' || n || ')'"},
    {"refcursor", Rule::kText, "", "md5(n::text)"},
    // Documents.
    {"json",
     Rule::kSameJson,
     "'null', '1', '\"s\"', E'{\\n\"a\" : [ ]\\r\\n}', ' true ', '1e5'",
     CDC_SAMPLE_DOCUMENT},
    {"jsonb", Rule::kSameJson, "'null', '1.50', '\"s\"', '[]', '{}', 'false'", CDC_SAMPLE_DOCUMENT},
    // Time.
    {"timestamp",
     Rule::kTimestamp,
     "'infinity', '-infinity', '4713-01-01 00:00:00 BC', '294276-12-31 23:59:59.999999', "
     "'0001-01-01', '10000-01-01'",
     "(" CDC_SAMPLE_MOMENT ")::timestamp"},
    {"timestamp(0)",
     Rule::kTimestamp,
     "'0044-03-15 12:00 BC'",
     "(" CDC_SAMPLE_MOMENT ")::timestamp"},
    {"timestamptz",
     Rule::kTimestamp,
     "'infinity', '-infinity', '4713-01-01 00:00:00+00 BC', '294276-12-31 23:59:59.999999+00', "
     "'2026-01-01 00:00-11:30'",
     CDC_SAMPLE_MOMENT},
    {"timestamptz(3)", Rule::kTimestamp, "", CDC_SAMPLE_MOMENT},
    {"date",
     Rule::kText,
     "'infinity', '-infinity', '4713-01-01 BC', '5874897-12-31'",
     "date '2000-01-01' + ((random() - 0.5) * 1000000)::int"},
    {"time", Rule::kText, "'24:00:00', '00:00'", "(" CDC_SAMPLE_MOMENT ")::time"},
    {"timetz", Rule::kText, "'24:00:00+15:59:59', '00:00-12'", "(" CDC_SAMPLE_MOMENT ")::timetz"},
    {"interval",
     Rule::kText,
     "'0', '-178000000 years', '1 mon -1 day 00:00:00.000001'",
     "(random() - 0.5) * interval '100 years 3 days'"},
    // Networks, identifiers, bits.
    {"uuid", Rule::kText, "", "md5(n::text)"},
    {"inet", Rule::kText, "'::1', '10.0.0.1/8', '::ffff:1.2.3.4/96'", "'10.' || n || '.2.1'"},
    {"cidr", Rule::kText, "'::/0'", "'10.' || n || '.0.0/16'"},
    {"macaddr", Rule::kText, "", "left(md5(n::text), 12)"},
    {"macaddr8", Rule::kText, "", "left(md5(n::text), 16)"},
    {"bit(8)", Rule::kText, "", "n::bit(8)"},
    {"varbit", Rule::kText, "''", "left(n::bit(16)::text, n % 17)"},
    // Geometry.
    {"point", Rule::kText, "'(1e300,-0)', '(NaN,Infinity)'", "point(random() * 100, n)"},
    {"line", Rule::kText, "", "'{1,' || n || ',' || random() || '}'"},
    {"lseg", Rule::kText, "", "lseg(point(random(), n), point(n, random()))"},
    {"box", Rule::kText, "", "box(point(random(), n), point(n, random()))"},
    {"path", Rule::kText, "'[(0,0),(1,1)]'", "'((0,0),(' || n || ',1),(' || random() || ',2))'"},
    {"polygon", Rule::kText, "", "'((0,0),(' || n || ',1),(' || random() || ',2))'"},
    {"circle", Rule::kText, "", "circle(point(random(), n), n)"},
    // Search.
    {"tsvector",
     Rule::kText,
     "''",
     "to_tsvector('simple', 'it''s a \"fat\" cat\\ ' || md5(n::text))"},
    {"tsquery", Rule::kText, "", "'''it''''s'' & !(b | ' || left(md5(n::text), 5) || ':*A)'"},
    // Object identifiers and the server's own types.
    {"oid", Rule::kText, "'4294967295'", "n"},
    {"xid", Rule::kText, "'4294967295'", "n"},
    {"xid8", Rule::kText, "'18446744073709551615'", "n"},
    {"cid", Rule::kText, "", "n"},
    {"tid", Rule::kText, "", "'(' || n || ',1)'"},
    {"regclass", Rule::kText, "'pg_class'", "'pg_catalog.pg_type'"},
    {"regtype", Rule::kText, "'int4[]', 'mood', 'timestamp with time zone'", "16 + n % 4"},
    {"regproc", Rule::kText, "'now'", "'pg_catalog.array_out'"},
    {"regprocedure", Rule::kText, "'lower(text)'", "'pg_catalog.abs(int4)'"},
    {"regoper", Rule::kText, "", "'pg_catalog.||/'"},
    {"regoperator", Rule::kText, "", "'pg_catalog.+(int4,int4)'"},
    {"regconfig", Rule::kText, "", "'simple'"},
    {"regdictionary", Rule::kText, "", "'simple'"},
    {"regnamespace", Rule::kText, "'public'", "'pg_catalog'"},
    {"regrole", Rule::kText, "", "'postgres'"},
    {"regcollation", Rule::kText, "", "'\"C\"'"},
    {"pg_lsn", Rule::kText, "'FFFFFFFF/FFFFFFFF'", "'1/' || to_hex(n)"},
    {"pg_snapshot", Rule::kText, "", "'10:' || 20 + n || ':10,14'"},
    {"txid_snapshot", Rule::kText, "", "'10:' || 20 + n || ':10,14'"},
    {"aclitem", Rule::kText, "", "'postgres=r*w/postgres'"},
    {"int2vector", Rule::kText, "''", "'1 2 ' || n", false},
    {"oidvector", Rule::kText, "''", "'1 2 ' || n", false},
    // Ranges.
    {"int4range", Rule::kText, "'empty', '(,)'", "int4range(" CDC_SAMPLE_BOUND("n", "3") ")"},
    {"int8range", Rule::kText, "'empty', '[5,)'", "int8range(" CDC_SAMPLE_BOUND("n", "3") ")"},
    {"numrange", Rule::kText, "'empty', '(,1.50]'", "numrange(" CDC_SAMPLE_BOUND("n", "0.5") ")"},
    {"tsrange",
     Rule::kText,
     "'(,infinity)'",
     "tsrange(" CDC_SAMPLE_BOUND("timestamp '2000-01-01 01:02:03.4'", "n * interval '1 hour'") ")"},
    {"tstzrange",
     Rule::kText,
     "'empty'",
     "tstzrange(" CDC_SAMPLE_BOUND("timestamptz '2000-01-01 01:02:03.4'",
                                   "n * interval '1 hour'") ")"},
    {"daterange",
     Rule::kText,
     "'empty'",
     "daterange(" CDC_SAMPLE_BOUND("date '2000-01-01'", "n") ")"},
    {"int4multirange", Rule::kText, "'{}'", "'{[1,3),[' || 10 + n || ',)}'"},
    {"int8multirange", Rule::kText, "'{}'", "'{[1,3),[' || 10 + n || ',)}'"},
    {"nummultirange", Rule::kText, "'{}'", "'{[1,3),(' || 10 + n || '.50,)}'"},
    {"tsmultirange", Rule::kText, "'{}'", "'{[2000-01-01 00:00,2001-02-03 04:05:06.7)}'"},
    {"tstzmultirange", Rule::kText, "'{}'", "'{[2000-01-01 00:00+00,2001-02-03 04:05:06.7+00)}'"},
    {"datemultirange", Rule::kText, "'{}'", "'{[2000-01-01,2001-02-03),[2002-01-01,)}'"},
    {"textrange",
     Rule::kText,
     "'empty', '[\"a,b\",\"c\\\"d\")'",
     "textrange('a', 'b' || md5(n::text))"},
    // Types that users make.
    {"mood",
     Rule::kText,
     "'sad', 'it''s \"ok\"', 'with space', 'NULL', ''",
     "(enum_range(NULL::mood))[1 + n % 5]"},
    {"feeling", Rule::kText, "''", "(enum_range(NULL::mood))[1 + n % 5]"},
    {"positive", Rule::kExactNumber, "'2147483647'", "1 + n"},
    {"price", Rule::kExactNumber, "", "n + random()"},
    {"cheap", Rule::kExactNumber, "'99.99'", "n / 2 + random()"},
    {"settings", Rule::kSameJson, "'null'", CDC_SAMPLE_DOCUMENT},
    {"moment", Rule::kTimestamp, "'infinity', '0044-03-15 12:00:00+00 BC'", CDC_SAMPLE_MOMENT},
    {"flag", Rule::kSameJson, "", "n % 2 = 0"},
    {"words",
     Rule::kSameJson,
     "'{}', '[0:1]={a,NULL}'",
     "ARRAY[" CDC_SAMPLE_WORDS ", NULL, 'b']",
     false},
    {"numbers", Rule::kExactNumber, "'{}', '[2:3]={1,NULL}'", "ARRAY[n, NULL, -1]", false},
    {"pair", Rule::kTextNotObject, "'(,)', '(1,\"\")'", "row(n, " CDC_SAMPLE_WORDS ")::pair"},
    {"nested",
     Rule::kTextNotObject,
     "'(,,)'",
     "row(row(n, " CDC_SAMPLE_WORDS ")::pair, ARRAY[n, 1], " CDC_SAMPLE_MOMENT ")::nested"},
    // Contrib.
    {"hstore",
     Rule::kTextNotObject,
     "''",
     "hstore(" CDC_SAMPLE_WORDS ", nullif(" CDC_SAMPLE_WORDS ", 'a'))"},
    {"ltree", Rule::kText, "''", "'Top.Sub_' || n"},
    {"lquery", Rule::kText, "", "'Top.*{1,2}.a' || n || '|b'"},
    {"ltxtquery", Rule::kText, "", "'a' || n || ' & !b'"},
    {"cube", Rule::kText, "", "cube(ARRAY[n, random()], ARRAY[1, 2])"},
    {"seg", Rule::kText, "'1.50 .. 2', '<5'", "n || ' .. ' || n + 1"},
    {"isbn13", Rule::kText, "", "'9780393040029'"},
    {"query_int", Rule::kText, "", "'1&(2|!' || n || ')'"},
};

#undef CDC_SAMPLE_WORDS
#undef CDC_SAMPLE_DOCUMENT
#undef CDC_SAMPLE_MOMENT
#undef CDC_SAMPLE_BOUND

}  // namespace cdc::postgres
