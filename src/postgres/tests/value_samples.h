#pragma once

#include <cstdint>
#include <string_view>

// The types of the differential test, and how the server makes values of each.
namespace cdc::postgres {

// How the rendering of a type compares with to_jsonb.
enum class Rule : std::uint8_t {
  kText,           // the JSON string of the printed text
  kTextNotObject,  // the same, where to_jsonb would print an object: composites, hstore
  kExactNumber,    // byte for byte what to_jsonb prints
  kSameJson,       // the same JSON value: floats (to_jsonb writes them out), booleans, json, jsonb
  kTimestamp,      // ISO 8601
};

struct Sample {
  std::string_view type;
  std::string_view specials;  // a list of texts, put first
  // An expression over n, 0 to the number of values; printed and cast to the type.
  std::string_view random;
  Rule rule;
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
    {"int2", "'-32768', '32767', '0'", "(random() * 65535)::int - 32768", Rule::kExactNumber},
    {"int4",
     "'-2147483648', '2147483647', '0'",
     "((random() - 0.5) * 10 ^ (n % 10))::int",
     Rule::kExactNumber},
    {"int8",
     "'-9223372036854775808', '9223372036854775807'",
     "((random() - 0.5) * 10 ^ (n % 19))::int8",
     Rule::kExactNumber},
    {"numeric",
     "'NaN', '0', '-0.000', '1e-20', '1e40', 'Infinity', '-Infinity', '1.50'",
     "round(((random() - 0.5) * 10 ^ (n % 30))::numeric, n % 17)",
     Rule::kExactNumber},
    {"numeric(30, 10)", "'NaN'", "(random() - 0.5) * 10 ^ (n % 20)", Rule::kExactNumber},
    {"float4",
     "'NaN', 'Infinity', '-Infinity', '-0', '1e-45', '3.4028235e38', '1e20'",
     "((random() - 0.5) * 10 ^ (n % 60 - 30))::float4",
     Rule::kSameJson},
    {"float8",
     "'NaN', 'Infinity', '-Infinity', '-0', '5e-324', '1.7976931348623157e308', '1e15', '1e16', "
     "'0.1'",
     "(random() - 0.5) * 10 ^ (n % 300 - 150)",
     Rule::kSameJson},
    {"bool", "'t', 'f'", "n % 2 = 0", Rule::kSameJson},
    {"money",
     "'-92233720368547758.08'",
     "((random() - 0.5) * 1000000)::numeric(12, 2)",
     Rule::kText},
    // Texts.
    {"text", "'', 'NULL', 'null', E'\\r\\n'", CDC_SAMPLE_WORDS, Rule::kText},
    {"varchar(20)", "''", "left(" CDC_SAMPLE_WORDS ", 20)", Rule::kText},
    {"char(12)", "''", "left(md5(n::text), n % 13)", Rule::kText},
    {"\"char\"", "'\"', E'\\\\', ' '", "chr(33 + n % 90)", Rule::kText},
    {"name", "''", CDC_SAMPLE_WORDS, Rule::kText},
    {"bytea", "''", "'\\x' || left(md5(n::text), 2 * (n % 16))", Rule::kText},
    {"citext", "''", CDC_SAMPLE_WORDS, Rule::kText},
    {"xml", "'<a/>'", "'<a b=\"' || n || '\">' || E'\\n' || md5(n::text) || '</a>'", Rule::kText},
    {"jsonpath", "'$'", "'$.a' || n || '[*] ? (@ > ' || n || ')'", Rule::kText},
    {"refcursor", "", "md5(n::text)", Rule::kText},
    // Documents.
    {"json",
     "'null', '1', '\"s\"', E'{\\n\"a\" : [ ]\\r\\n}', ' true ', '1e5'",
     CDC_SAMPLE_DOCUMENT,
     Rule::kSameJson},
    {"jsonb", "'null', '1.50', '\"s\"', '[]', '{}', 'false'", CDC_SAMPLE_DOCUMENT, Rule::kSameJson},
    // Time.
    {"timestamp",
     "'infinity', '-infinity', '4713-01-01 00:00:00 BC', '294276-12-31 23:59:59.999999', "
     "'0001-01-01', '10000-01-01'",
     "(" CDC_SAMPLE_MOMENT ")::timestamp",
     Rule::kTimestamp},
    {"timestamp(0)",
     "'0044-03-15 12:00 BC'",
     "(" CDC_SAMPLE_MOMENT ")::timestamp",
     Rule::kTimestamp},
    {"timestamptz",
     "'infinity', '-infinity', '4713-01-01 00:00:00+00 BC', '294276-12-31 23:59:59.999999+00', "
     "'2026-01-01 00:00-11:30'",
     CDC_SAMPLE_MOMENT,
     Rule::kTimestamp},
    {"timestamptz(3)", "", CDC_SAMPLE_MOMENT, Rule::kTimestamp},
    {"date",
     "'infinity', '-infinity', '4713-01-01 BC', '5874897-12-31'",
     "date '2000-01-01' + ((random() - 0.5) * 1000000)::int",
     Rule::kText},
    {"time", "'24:00:00', '00:00'", "(" CDC_SAMPLE_MOMENT ")::time", Rule::kText},
    {"timetz", "'24:00:00+15:59:59', '00:00-12'", "(" CDC_SAMPLE_MOMENT ")::timetz", Rule::kText},
    {"interval",
     "'0', '-178000000 years', '1 mon -1 day 00:00:00.000001'",
     "(random() - 0.5) * interval '100 years 3 days'",
     Rule::kText},
    // Networks, identifiers, bits.
    {"uuid", "", "md5(n::text)", Rule::kText},
    {"inet", "'::1', '10.0.0.1/8', '::ffff:1.2.3.4/96'", "'10.' || n || '.2.1'", Rule::kText},
    {"cidr", "'::/0'", "'10.' || n || '.0.0/16'", Rule::kText},
    {"macaddr", "", "left(md5(n::text), 12)", Rule::kText},
    {"macaddr8", "", "left(md5(n::text), 16)", Rule::kText},
    {"bit(8)", "", "n::bit(8)", Rule::kText},
    {"varbit", "''", "left(n::bit(16)::text, n % 17)", Rule::kText},
    // Geometry.
    {"point", "'(1e300,-0)', '(NaN,Infinity)'", "point(random() * 100, n)", Rule::kText},
    {"line", "", "'{1,' || n || ',' || random() || '}'", Rule::kText},
    {"lseg", "", "lseg(point(random(), n), point(n, random()))", Rule::kText},
    {"box", "", "box(point(random(), n), point(n, random()))", Rule::kText},
    {"path", "'[(0,0),(1,1)]'", "'((0,0),(' || n || ',1),(' || random() || ',2))'", Rule::kText},
    {"polygon", "", "'((0,0),(' || n || ',1),(' || random() || ',2))'", Rule::kText},
    {"circle", "", "circle(point(random(), n), n)", Rule::kText},
    // Search.
    {"tsvector",
     "''",
     "to_tsvector('simple', 'it''s a \"fat\" cat\\ ' || md5(n::text))",
     Rule::kText},
    {"tsquery", "", "'''it''''s'' & !(b | ' || left(md5(n::text), 5) || ':*A)'", Rule::kText},
    // Object identifiers and the server's own types.
    {"oid", "'4294967295'", "n", Rule::kText},
    {"xid", "'4294967295'", "n", Rule::kText},
    {"xid8", "'18446744073709551615'", "n", Rule::kText},
    {"cid", "", "n", Rule::kText},
    {"tid", "", "'(' || n || ',1)'", Rule::kText},
    {"regclass", "'pg_class'", "'pg_catalog.pg_type'", Rule::kText},
    {"regtype", "'int4[]', 'mood', 'timestamp with time zone'", "16 + n % 4", Rule::kText},
    {"regproc", "'now'", "'pg_catalog.array_out'", Rule::kText},
    {"regprocedure", "'lower(text)'", "'pg_catalog.abs(int4)'", Rule::kText},
    {"regoper", "", "'pg_catalog.||/'", Rule::kText},
    {"regoperator", "", "'pg_catalog.+(int4,int4)'", Rule::kText},
    {"regconfig", "", "'simple'", Rule::kText},
    {"regdictionary", "", "'simple'", Rule::kText},
    {"regnamespace", "'public'", "'pg_catalog'", Rule::kText},
    {"regrole", "", "'postgres'", Rule::kText},
    {"regcollation", "", "'\"C\"'", Rule::kText},
    {"pg_lsn", "'FFFFFFFF/FFFFFFFF'", "'1/' || to_hex(n)", Rule::kText},
    {"pg_snapshot", "", "'10:' || 20 + n || ':10,14'", Rule::kText},
    {"txid_snapshot", "", "'10:' || 20 + n || ':10,14'", Rule::kText},
    {"aclitem", "", "'postgres=r*w/postgres'", Rule::kText},
    {"int2vector", "''", "'1 2 ' || n", Rule::kText, false},
    {"oidvector", "''", "'1 2 ' || n", Rule::kText, false},
    // Ranges.
    {"int4range", "'empty', '(,)'", "int4range(" CDC_SAMPLE_BOUND("n", "3") ")", Rule::kText},
    {"int8range", "'empty', '[5,)'", "int8range(" CDC_SAMPLE_BOUND("n", "3") ")", Rule::kText},
    {"numrange", "'empty', '(,1.50]'", "numrange(" CDC_SAMPLE_BOUND("n", "0.5") ")", Rule::kText},
    {"tsrange",
     "'(,infinity)'",
     "tsrange(" CDC_SAMPLE_BOUND("timestamp '2000-01-01 01:02:03.4'", "n * interval '1 hour'") ")",
     Rule::kText},
    {"tstzrange",
     "'empty'",
     "tstzrange(" CDC_SAMPLE_BOUND("timestamptz '2000-01-01 01:02:03.4'",
                                   "n * interval '1 hour'") ")",
     Rule::kText},
    {"daterange",
     "'empty'",
     "daterange(" CDC_SAMPLE_BOUND("date '2000-01-01'", "n") ")",
     Rule::kText},
    {"int4multirange", "'{}'", "'{[1,3),[' || 10 + n || ',)}'", Rule::kText},
    {"int8multirange", "'{}'", "'{[1,3),[' || 10 + n || ',)}'", Rule::kText},
    {"nummultirange", "'{}'", "'{[1,3),(' || 10 + n || '.50,)}'", Rule::kText},
    {"tsmultirange", "'{}'", "'{[2000-01-01 00:00,2001-02-03 04:05:06.7)}'", Rule::kText},
    {"tstzmultirange", "'{}'", "'{[2000-01-01 00:00+00,2001-02-03 04:05:06.7+00)}'", Rule::kText},
    {"datemultirange", "'{}'", "'{[2000-01-01,2001-02-03),[2002-01-01,)}'", Rule::kText},
    {"textrange",
     "'empty', '[\"a,b\",\"c\\\"d\")'",
     "textrange('a', 'b' || md5(n::text))",
     Rule::kText},
    // Types that users make.
    {"mood",
     "'sad', 'it''s \"ok\"', 'with space', 'NULL', ''",
     "(enum_range(NULL::mood))[1 + n % 5]",
     Rule::kText},
    {"feeling", "''", "(enum_range(NULL::mood))[1 + n % 5]", Rule::kText},
    {"positive", "'2147483647'", "1 + n", Rule::kExactNumber},
    {"price", "", "n + random()", Rule::kExactNumber},
    {"cheap", "'99.99'", "n / 2 + random()", Rule::kExactNumber},
    {"settings", "'null'", CDC_SAMPLE_DOCUMENT, Rule::kSameJson},
    {"moment", "'infinity', '0044-03-15 12:00:00+00 BC'", CDC_SAMPLE_MOMENT, Rule::kTimestamp},
    {"flag", "", "n % 2 = 0", Rule::kSameJson},
    {"words",
     "'{}', '[0:1]={a,NULL}'",
     "ARRAY[" CDC_SAMPLE_WORDS ", NULL, 'b']",
     Rule::kSameJson,
     false},
    {"numbers", "'{}', '[2:3]={1,NULL}'", "ARRAY[n, NULL, -1]", Rule::kExactNumber, false},
    {"pair", "'(,)', '(1,\"\")'", "row(n, " CDC_SAMPLE_WORDS ")::pair", Rule::kTextNotObject},
    {"nested",
     "'(,,)'",
     "row(row(n, " CDC_SAMPLE_WORDS ")::pair, ARRAY[n, 1], " CDC_SAMPLE_MOMENT ")::nested",
     Rule::kTextNotObject},
    // Contrib.
    {"hstore",
     "''",
     "hstore(" CDC_SAMPLE_WORDS ", nullif(" CDC_SAMPLE_WORDS ", 'a'))",
     Rule::kTextNotObject},
    {"ltree", "''", "'Top.Sub_' || n", Rule::kText},
    {"lquery", "", "'Top.*{1,2}.a' || n || '|b'", Rule::kText},
    {"ltxtquery", "", "'a' || n || ' & !b'", Rule::kText},
    {"cube", "", "cube(ARRAY[n, random()], ARRAY[1, 2])", Rule::kText},
    {"seg", "'1.50 .. 2', '<5'", "n || ' .. ' || n + 1", Rule::kText},
    {"isbn13", "", "'9780393040029'", Rule::kText},
    {"query_int", "", "'1&(2|!' || n || ')'", Rule::kText},
};

#undef CDC_SAMPLE_WORDS
#undef CDC_SAMPLE_DOCUMENT
#undef CDC_SAMPLE_MOMENT
#undef CDC_SAMPLE_BOUND

}  // namespace cdc::postgres
