"""Column types for the value tests: how to declare each, edge cases, and a generator of more.

Values are texts that PostgreSQL accepts as input of the type; None is NULL.
"""

import random
import string

NUMBER = "number"
BOOLEAN = "boolean"
JSON = "json"
TIMESTAMP = "timestamp"
TIMESTAMPTZ = "timestamptz"
TEXT = "text"


class ColumnType:
    """One column of the test table.

    kind       how a value becomes JSON (one of the constants above); of the elements for arrays
    edges      values that every run includes
    generate   makes one more value from a random.Random
    array      the column is an array
    to_json    the server's to_json() must give the same JSON
    """

    def __init__(self, name, sql, kind, edges, generate=None, array=False, to_json=True):
        self.name = name
        self.sql = sql
        self.kind = kind
        self.edges = edges
        self.generate = generate or (lambda rng: rng.choice(edges))
        self.array = array
        self.to_json = to_json

    def value(self, index, rng):
        """Value of row `index`: the edges first, then random ones with some NULLs."""
        if index < len(self.edges):
            return self.edges[index]
        return None if rng.random() < 0.05 else self.generate(rng)


EXTENSIONS = ["hstore", "citext", "ltree", "cube", "seg", "isn", "intarray", "lo"]

DEFINITIONS = [
    """CREATE TYPE mood AS ENUM ('sad', 'ok', 'so "happy"', 'com,ma', 'nu ll', 'é')""",
    "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
    "CREATE DOMAIN very_positive AS positive CHECK (VALUE > 10)",
    "CREATE DOMAIN price AS numeric(12, 2)",
    "CREATE DOMAIN tags AS text[]",
    "CREATE DOMAIN flag AS boolean",
    "CREATE DOMAIN moment AS timestamptz",
    "CREATE DOMAIN document AS jsonb",
    "CREATE TYPE pair AS (a int, b text)",
    "CREATE TYPE nested AS (p pair, xs int[], at timestamptz)",
    "CREATE TYPE float_range AS RANGE (subtype = float8)",
]

TRICKY_TEXT = [
    "",
    " ",
    "NULL",
    "null",
    "\\N",
    "a\tb\nc\rd\be\ff\x0bg",
    "".join(chr(i) for i in range(1, 32)) + "\x7f",
    'quote " backslash \\ slash /',
    "{braces},(parens),[brackets]",
    "<script>&amp;'</script>",
    "ünïcödé ß €",
    "emoji 🦫🏽‍🔧 and \U0010ffff",
    "line\u2028para\u2029sep\u0085nel",
    "\ufeffbom \ufffe",
    "مرحبا שלום",
    "e\u0301 combining",
    "\\u0041 \\x41 \\101",
    "'single' ''double''",
    "${HOME} $1 %s",
    "trailing spaces   ",
]


def _text(rng, longest=40):
    alphabet = string.printable[:95] + "\t\n\r\"\\{},éß€🦫\u2028"
    return "".join(rng.choice(alphabet) for _ in range(rng.randrange(longest)))


def _integer(bits):
    def generate(rng):
        magnitude = rng.randrange(bits)
        return str(rng.randrange(-(1 << magnitude), 1 << magnitude))

    return generate


def _decimal(rng):
    whole = "".join(rng.choice(string.digits) for _ in range(rng.randrange(1, 40)))
    part = "".join(rng.choice(string.digits) for _ in range(rng.randrange(0, 40)))
    return rng.choice(["", "-"]) + whole + ("." + part if part else "")


def _real(exponent):
    def generate(rng):
        if rng.random() < 0.3:
            return repr(float(rng.randrange(-100000, 100000)))
        return f"{rng.uniform(-10, 10)!r}e{rng.randrange(-exponent, exponent)}"

    return generate


def _day(rng):
    return f"{rng.randrange(1, 9999):04}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"


def _clock(rng):
    digits = rng.randrange(7)
    part = f".{rng.randrange(10 ** digits):0{digits}}" if digits else ""
    return f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}{part}"


def _zone(rng):
    return rng.choice(["+00", "-08", "+05:45", "-03:30", "+14", "+00:19:32"])


def _interval(rng):
    return (
        f"{rng.randrange(-200, 200)} years {rng.randrange(-11, 12)} mons"
        f" {rng.randrange(-40, 40)} days"
        f" {rng.randrange(-30, 30)}:{rng.randrange(60)}:{_seconds(rng)}"
    )


def _seconds(rng):
    return f"{rng.randrange(60):02}.{rng.randrange(1000000):06}"


def _json(rng, depth=0):
    choice = rng.randrange(9 if depth < 4 else 6)
    if choice == 0:
        return rng.choice(["true", "false", "null"])
    if choice == 1:
        return _json_number(rng)
    if choice <= 5:
        return _json_string(rng)
    space = rng.choice(["", " ", "\n", "\r\n  ", "\t"])
    if choice == 6:
        return "[" + f",{space}".join(_json(rng, depth + 1) for _ in range(rng.randrange(4))) + "]"
    members = [f"{_json_string(rng)}:{space}{_json(rng, depth + 1)}"
               for _ in range(rng.randrange(4))]
    return "{" + f"{space}, ".join(members) + space + "}"


def _json_number(rng):
    whole = str(rng.randrange(-(10**20), 10**20))
    part = f".{rng.randrange(10**9)}" if rng.random() < 0.5 else ""
    exponent = rng.choice(["", "", f"e{rng.randrange(-40, 40)}", f"E+{rng.randrange(40)}"])
    return whole + part + exponent


def _json_string(rng):
    out = []
    for letter in _text(rng, 15):
        if letter in '"\\':
            out.append("\\" + letter)
        elif letter < " ":
            out.append(f"\\u{ord(letter):04x}")
        else:
            out.append(letter)
    return '"' + "".join(out) + '"'


def _quote_element(text):
    if text is None:
        return "NULL"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def array_text(values, delimiter=","):
    """PostgreSQL's array input of nested lists of element texts."""
    parts = [
        array_text(value, delimiter) if isinstance(value, list) else _quote_element(value)
        for value in values
    ]
    return "{" + delimiter.join(parts) + "}"


def _array_of(element, delimiter=","):
    def generate(rng):
        def build(depth, lengths):
            if depth == len(lengths):
                return None if rng.random() < 0.1 else element.generate(rng)
            return [build(depth + 1, lengths) for _ in range(lengths[depth])]

        lengths = [rng.randrange(1, 4) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        return array_text(build(0, lengths), delimiter)

    edges = [
        "{}",
        "{NULL}",
        array_text(list(element.edges[:40]), delimiter),
        array_text([[None, element.edges[0]], [element.edges[-1], None]], delimiter),
        "[0:1]=" + array_text([element.edges[0], element.edges[-1]], delimiter),
        "[-2:-1][5:5]=" + array_text([[element.edges[0]], [element.edges[-1]]], delimiter),
        array_text([[[[[[element.edges[0]]]]]]], delimiter),
    ]
    return edges, generate


SCALARS = [
    ColumnType("int2", "smallint", NUMBER, ["0", "-1", "32767", "-32768"], _integer(15)),
    ColumnType("int4", "integer", NUMBER, ["0", "2147483647", "-2147483648"], _integer(31)),
    ColumnType(
        "int8", "bigint", NUMBER,
        ["0", "9007199254740993", "9223372036854775807", "-9223372036854775808"], _integer(63),
    ),
    ColumnType(
        "num", "numeric", NUMBER,
        ["0", "0.00", "1.50", "-0.1", "NaN", "Infinity", "-Infinity", "1e30", "1e-30",
         "123456789012345678901234567890.123456789", "-0"],
        _decimal,
    ),
    ColumnType(
        "num_scaled", "numeric(20,5)", NUMBER, ["0", "1.5", "-99999.99999", "NaN"],
        lambda rng: f"{rng.randrange(-10**14, 10**14)}.{rng.randrange(10**5)}",
    ),
    ColumnType(
        "float4", "real", NUMBER,
        ["0", "-0", "1.1", "NaN", "Infinity", "-Infinity", "3.4028235e38", "1e-45", "16777217"],
        _real(30),
    ),
    ColumnType(
        "float8", "double precision", NUMBER,
        ["0", "-0", "0.1", "NaN", "Infinity", "-Infinity", "1.7976931348623157e308", "5e-324",
         "1e15", "1e16", "123456789012345680", "0.30000000000000004"],
        _real(300),
    ),
    ColumnType("flag", "boolean", BOOLEAN, ["t", "f"]),
    ColumnType("cash", "money", TEXT, ["0", "-1234.56", "92233720368547758.07"]),
    ColumnType("single", '"char"', TEXT, ["a", "", '"', "\\"]),
    ColumnType("padded", "char(7)", TEXT, ["", "a", "  b", 'q"q', "1234567", "é"],
               lambda rng: _text(rng, 7).rstrip(" ")),
    ColumnType("limited", "varchar(60)", TEXT, TRICKY_TEXT, _text),
    ColumnType("words", "text", TEXT, TRICKY_TEXT, lambda rng: _text(rng, 200)),
    ColumnType("ident", "name", TEXT, ["", "pg_class", 'we"ird', "x" * 63], _text),
    ColumnType("bytes", "bytea", TEXT, ["", "\\x00", "\\xdeadBEEF", "\\x5c22"],
               lambda rng: "\\x" + rng.randbytes(rng.randrange(30)).hex()),
    ColumnType(
        "stamp", "timestamp", TIMESTAMP,
        ["2026-01-02 03:04:05", "2026-01-02 03:04:05.6", "1999-12-31 23:59:59.999999",
         "infinity", "-infinity", "4713-01-01 00:00:00 BC", "0044-03-15 12:30:00.5 BC",
         "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "10000-01-01 00:00:00",
         "294276-12-31 23:59:59.999999", "1582-10-10 00:00:00"],
        lambda rng: f"{_day(rng)} {_clock(rng)}", to_json=False,
    ),
    ColumnType("stamp0", "timestamp(0)", TIMESTAMP, ["2026-01-02 03:04:05.6"],
               lambda rng: f"{_day(rng)} {_clock(rng)}"),
    ColumnType(
        "moment", "timestamptz", TIMESTAMPTZ,
        ["2026-01-02 03:04:05+05:45", "1970-01-01 00:00:00Z", "infinity", "-infinity",
         "4713-06-01 00:00:00+00 BC", "10000-01-01 00:00:00+00", "294276-12-31 23:59:59+00",
         "1883-11-18 12:00:00 America/New_York", "2026-03-29 02:30:00 Europe/Berlin"],
        lambda rng: f"{_day(rng)} {_clock(rng)}{_zone(rng)}", to_json=False,
    ),
    ColumnType("day", "date", TEXT,
               ["2026-01-02", "infinity", "-infinity", "4713-01-01 BC", "0001-01-01",
                "10000-01-01", "5874897-12-31", "1582-10-10"], _day),
    ColumnType("clock", "time", TEXT, ["00:00:00", "24:00:00", "23:59:59.999999"], _clock),
    ColumnType("zoned_clock", "timetz", TEXT, ["00:00:00+00", "24:00:00-12", "12:00:00+05:45:30"],
               lambda rng: _clock(rng) + _zone(rng)),
    ColumnType("span", "interval", TEXT,
               ["0", "1 mon", "-1 year -2 mons +3 days -04:05:06.7", "178000000 years",
                "1 day 24:00:00", "00:00:00.000001"], _interval),
    ColumnType("guid", "uuid", TEXT, ["00000000-0000-0000-0000-000000000000"],
               lambda rng: rng.randbytes(16).hex()),
    ColumnType(
        "js", "json", JSON,
        ["null", '"x"', "1.50", '{"b": 1, "a": 2, "b": 3}', '{\n  "a": [1,\r\n 2],\t"b" : {}\n}',
         '"\\u0000 \\ud83e\\uddab \\/ \\n"', "123456789012345678901234567890.10e+5", "[]",
         " true "],
        _json,
    ),
    ColumnType(
        "jsb", "jsonb", JSON,
        ["null", '"x"', "1.50", '{"b": 1, "a": 2, "b": 3}', "[1, [2, [3, []]], {}]", "-0.0",
         "1e400",
         '"line\\nbreak"'],
        _json,
    ),
    ColumnType("jpath", "jsonpath", TEXT, ["$", '$."a b"[*] ? (@ > 1)', "strict $.a"]),
    ColumnType("pt", "point", TEXT, ["(0,0)", "(-0,1e300)", "(NaN,Infinity)"]),
    ColumnType("ln", "line", TEXT, ["{1,2,3}"]),
    ColumnType("seg_", "lseg", TEXT, ["[(0,0),(1,1.5)]"]),
    ColumnType("bx", "box", TEXT, ["(1,1),(0,0)", "(3.5,4),(-1,-2)"]),
    ColumnType("pth", "path", TEXT, ["((0,0),(1,1))", "[(0,0),(1,1),(2,0)]"]),
    ColumnType("poly", "polygon", TEXT, ["((0,0),(1,1),(2,0))"]),
    ColumnType("circ", "circle", TEXT, ["<(1,2),3.5>"]),
    ColumnType("ip", "inet", TEXT,
               ["10.0.0.1", "10.0.0.1/8", "::1", "2001:db8::/32", "fe80::1/64"]),
    ColumnType("net", "cidr", TEXT, ["10.0.0.0/8", "::/0", "192.168.1.1/32"]),
    ColumnType("mac", "macaddr", TEXT, ["08:00:2b:01:02:03"]),
    ColumnType("mac8", "macaddr8", TEXT, ["08:00:2b:01:02:03:04:05"]),
    ColumnType("bits", "bit(5)", TEXT, ["00000", "10101"]),
    ColumnType("varbits", "bit varying", TEXT, ["", "1", "0" * 70]),
    ColumnType("tsv", "tsvector", TEXT, ["", "'a':1A,2 'it''s':3 'back\\\\slash'"]),
    ColumnType("tsq", "tsquery", TEXT, ["'a' & !'b' <2> 'c':*A"]),
    ColumnType("r_int4", "int4range", TEXT, ["empty", "[1,5)", "(,5]", "(,)", "[3,3]"]),
    ColumnType("r_int8", "int8range", TEXT, ["[1,9223372036854775806)"]),
    ColumnType("r_num", "numrange", TEXT, ["(1.50,2.500]", "[NaN,NaN]"]),
    ColumnType("r_ts", "tsrange", TEXT, ['["2026-01-01 00:00:00","2026-01-02 00:00:00")']),
    ColumnType("r_tstz", "tstzrange", TEXT, ['["2026-01-01 00:00:00+05:45",infinity]']),
    ColumnType("r_date", "daterange", TEXT, ["[2026-01-01,2026-02-01]", "(-infinity,)"]),
    ColumnType("r_own", "float_range", TEXT, ["[0.1,1e100)"]),
    ColumnType("m_int4", "int4multirange", TEXT, ["{}", "{[1,3),[5,8)}", "{(,)}"]),
    ColumnType("m_tstz", "tstzmultirange", TEXT, ['{["2026-01-01 00:00:00+00",]}']),
    ColumnType("m_num", "nummultirange", TEXT, ["{[1.0,2.0],(3,4)}"]),
    ColumnType("object_id", "oid", TEXT, ["0", "4294967295"]),
    ColumnType("class", "regclass", TEXT, ["pg_class", "-", "4294967295"]),
    ColumnType("type_", "regtype", TEXT, ["integer", "timestamp with time zone", "text[]"]),
    ColumnType("proc", "regprocedure", TEXT, ["now()", "lower(text)"]),
    ColumnType("op", "regoperator", TEXT, ["+(integer,integer)"]),
    ColumnType("namespace", "regnamespace", TEXT, ["pg_catalog"]),
    ColumnType("role_", "regrole", TEXT, ["postgres"]),
    ColumnType("lsn", "pg_lsn", TEXT, ["0/0", "FFFFFFFF/FFFFFFFF", "16/B374D848"]),
    ColumnType("snap", "pg_snapshot", TEXT, ["10:20:10,14,15"]),
    ColumnType("xact", "xid", TEXT, ["0", "4294967295"]),
    ColumnType("xact8", "xid8", TEXT, ["18446744073709551615"]),
    ColumnType("command", "cid", TEXT, ["7"]),
    ColumnType("tuple", "tid", TEXT, ["(0,1)", "(4294967295,65535)"]),
    ColumnType("oids", "oidvector", TEXT, ["", "1 2 3"], to_json=False),
    ColumnType("ints", "int2vector", TEXT, ["", "1 -2 3"], to_json=False),
    ColumnType("feeling", "mood", TEXT, ["sad", 'so "happy"', "com,ma", "é"]),
    ColumnType("d_int", "positive", NUMBER, ["1", "2147483647"]),
    ColumnType("d_int2", "very_positive", NUMBER, ["11"]),
    ColumnType("d_price", "price", NUMBER, ["1.5", "-9999999999.99", "NaN"]),
    ColumnType("d_flag", "flag", BOOLEAN, ["t", "f"]),
    ColumnType("d_moment", "moment", TIMESTAMPTZ, ["2026-01-02 03:04:05.67+02"], to_json=False),
    ColumnType("d_doc", "document", JSON, ['{"a": [1, 2.50]}']),
    ColumnType("comp", "pair", TEXT, ["(1,x)", "(,)", '(-5,"a ""b"" , \\\\ c")'], to_json=False),
    ColumnType("comp2", "nested", TEXT,
               ['("(1,x)","{1,NULL}","2026-01-02 03:04:05+05:45")', "(,,)"], to_json=False),
    ColumnType("hs", "hstore", TEXT, ["", '"a"=>"1", "b"=>NULL', '"q\\"uote"=>"back\\\\slash"'],
               to_json=False),
    ColumnType("ci", "citext", TEXT, TRICKY_TEXT[:14], _text),
    ColumnType("tree", "ltree", TEXT, ["", "Top.Science.Astronomy"]),
    ColumnType("tree_query", "lquery", TEXT, ["*.Astro*.!pictures@"]),
    ColumnType("cb", "cube", TEXT, ["(0, 1.5),(2, 3)", "(1)"]),
    ColumnType("sg", "seg", TEXT, ["1.0 .. 2.50", "~5.00"]),
    ColumnType("book", "isbn13", TEXT, ["978-0-11-000533-1"]),
    ColumnType("iquery", "query_int", TEXT, ["1&(2|!3)"]),
    ColumnType("large", "lo", TEXT, ["16400"]),
]

_BY_NAME = {column.name: column for column in SCALARS}


def _array_column(element_name, sql=None, delimiter=",", to_json=None):
    element = _BY_NAME[element_name]
    edges, generate = _array_of(element, delimiter)
    return ColumnType(
        f"a_{element_name}", sql or f"{element.sql}[]", element.kind, edges, generate, array=True,
        to_json=element.to_json if to_json is None else to_json,
    )


ARRAYS = [
    _array_column(name)
    for name in (
        "int2", "int4", "int8", "num", "num_scaled", "float4", "float8", "flag", "cash", "padded",
        "limited", "words", "ident", "bytes", "stamp", "moment", "day", "clock", "span", "guid",
        "js",
        "jsb", "pt", "pth", "poly", "ip", "bits", "tsv", "r_int4", "r_tstz", "m_int4", "object_id",
        "feeling", "d_int", "d_price", "d_flag", "d_moment", "d_doc", "comp", "comp2", "hs", "ci",
        "tree", "cb", "lsn",
    )
] + [
    _array_column("bx", delimiter=";"),
    ColumnType("d_tags", "tags", TEXT, *_array_of(_BY_NAME["words"]), array=True),
]

# Not in every build of the server.
XML = ColumnType("markup", "xml", TEXT, ["<a>1 &lt; 2</a>", "text only", "<b x='1'/>"])


def all_columns(with_xml):
    return SCALARS + ARRAYS + ([XML] if with_xml else [])


def rows_of(columns, count, seed):
    """`count` rows of input texts."""
    rng = random.Random(seed)
    return [[column.value(index, rng) for column in columns] for index in range(count)]
