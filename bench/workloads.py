"""Tables and row generators: what fills the slots that the clients drain."""

NARROW = "id bigint primary key, status text, total numeric(10,2), updated_at timestamptz"

# 49 columns beside the key: (name, type, how many, expression of row g and column number k).
WIDE = [
    ("i", "int", 10, "(g*{k})%1000003"),
    ("b", "bigint", 6, "g*{k}::bigint*1000003"),
    ("n", "numeric(14,4)", 6, "(g%100000)*{k}+0.1234"),
    ("t", "text", 10, "'value '||(g*{k}%5003)"),
    ("ts", "timestamptz", 5, "timestamptz '2024-01-01 00:00:00+00'+g*interval '1.{k}s'"),
    ("f", "boolean", 3, "g%{k}=0"),
    ("d", "double precision", 3, "g*{k}/7.0"),
    ("u", "uuid", 2, "md5((g*{k})::text)::uuid"),
    ("j", "jsonb", 2, "jsonb_build_object('k',g,'s','abc{k}','a',jsonb_build_array(1,2,{k}))"),
    ("da", "date", 1, "date '2020-01-01'+(g%2000)::int"),
    ("by", "bytea", 1, "decode(md5(g::text),'hex')"),
]


def wide_columns():
    columns, values = ["id bigint primary key"], ["g"]
    for prefix, kind, count, expression in WIDE:
        for k in range(1, count + 1):
            columns.append(f"{prefix}{k} {kind}")
            values.append(f"({expression.replace('{k}', str(k))})::{kind}")
    assert len(columns) == 50
    return ", ".join(columns), ", ".join(values)


def _loop(name, statement):
    """A procedure that runs `statement` for keys i .. last, `per` keys to a transaction."""
    return f"""create procedure {name}(n bigint, per bigint) language plpgsql as $$
        declare i bigint := 1; last bigint;
        begin
          while i <= n loop
            last := least(i + per - 1, n);
            {statement};
            commit;
            i := i + per;
          end loop;
        end $$"""


def create(cluster):
    columns, values = wide_columns()
    series = "from generate_series(i, last) g"
    cluster.sql(
        f"create table narrow ({NARROW})",
        f"create table full_identity ({NARROW})",
        "alter table full_identity replica identity full",
        "create table kilobyte (id bigint primary key, payload text, written_at timestamptz)",
        f"create table wide ({columns})",
        "create table latency (id bigint primary key, sent_us bigint)",
        _loop("fill_narrow", "insert into narrow select g, 'pending', (g%10000)+0.25, "
                             f"clock_timestamp() {series}"),
        _loop("fill_kilobyte", "insert into kilobyte select g, repeat(md5(g::text), 32), "
                               f"clock_timestamp() {series}"),
        _loop("fill_wide", f"insert into wide select {values} {series}"),
        _loop("update_full", "update full_identity set status = 'shipped', total = total + 1, "
                             "updated_at = clock_timestamp() where id between i and last"),
        "create publication bench for all tables",
        "vacuum", "checkpoint")


class Workload:
    def __init__(self, name, title, table, rows, per, procedure, prepare=()):
        self.name, self.title, self.table = name, title, table
        self.rows, self.per, self.procedure, self.prepare = rows, per, procedure, prepare

    def generate(self, cluster):
        """Writes the changes; gives the LSN behind the last of them and the bytes of WAL."""
        start = cluster.sql("select pg_current_wal_insert_lsn()")
        cluster.sql(f"call {self.procedure}({self.rows}, {self.per})",
                    options="-c synchronous_commit=off")
        end = cluster.sql("select pg_current_wal_insert_lsn()")
        # A commit behind `end` for clients that only stop at one.
        cluster.sql("select pg_logical_emit_message(true, 'bench', 'end')")
        return end, int(cluster.sql(f"select pg_wal_lsn_diff('{end}', '{start}')"))

    def reset(self, cluster):
        cluster.sql(f"truncate {self.table}", *self.prepare, "checkpoint")


def workloads(scale):
    def rows(count):
        return max(1000, int(count * scale))

    fill_updates = ("insert into full_identity select g, 'pending', (g%10000)+0.25, "
                    f"clock_timestamp() from generate_series(1, {rows(500_000)}) g")
    return [
        Workload("narrow", "4 columns, 100 rows/tx", "narrow", rows(1_000_000), 100,
                 "fill_narrow"),
        Workload("bigtx", "4 columns, one transaction", "narrow", rows(1_000_000),
                 rows(1_000_000), "fill_narrow"),
        Workload("kilobyte", "1 KB rows, 500 rows/tx", "kilobyte", rows(500_000), 500,
                 "fill_kilobyte"),
        Workload("wide", "50 columns, 500 rows/tx", "wide", rows(200_000), 500, "fill_wide"),
        Workload("full", "updates under FULL, 500 rows/tx", "full_identity", rows(500_000), 500,
                 "update_full", prepare=(fill_updates, "vacuum full_identity")),
    ]
