-- A small shop: three tables with the types that real ones have, and a procedure that works on them
-- like a few customers would. `make demo` uses it; so can you, in a database of your own:
--   psql -d shop -f examples/shop.sql
--   psql -d shop -c 'CALL shop_traffic(60)'

CREATE TYPE order_status AS ENUM ('placed', 'paid', 'shipped', 'cancelled');

CREATE TABLE customers (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email      text NOT NULL UNIQUE,
    name       varchar(80) NOT NULL,
    tags       text[] NOT NULL DEFAULT '{}',
    settings   jsonb NOT NULL DEFAULT '{}',
    birthday   date,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE orders (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer_id bigint NOT NULL REFERENCES customers,
    status      order_status NOT NULL DEFAULT 'placed',
    total       numeric(12, 2) NOT NULL,
    items       jsonb NOT NULL,
    note        text,
    placed_at   timestamptz NOT NULL DEFAULT now()
);

-- With the full identity an update's `before` holds the whole old row, not only its key.
ALTER TABLE orders REPLICA IDENTITY FULL;

CREATE TABLE payments (
    id       uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    order_id bigint NOT NULL REFERENCES orders ON DELETE CASCADE,
    amount   numeric(12, 2) NOT NULL,
    method   text NOT NULL,
    refunded boolean NOT NULL DEFAULT false,
    paid_at  timestamptz NOT NULL DEFAULT now()
);

INSERT INTO customers (email, name, tags, birthday)
SELECT format('customer%s@example.com', n), (ARRAY['Ada', 'Blaise', 'Çelik', 'Dorothy', 'Émile'])[n],
       CASE WHEN n % 2 = 0 THEN ARRAY['newsletter', 'vip'] ELSE '{}' END, date '1990-01-01' + n * 400
FROM generate_series(1, 5) AS n;

-- One step is one transaction: a new order, a payment, a shipment, a change of settings, or the end
-- of an old order. Runs for about `seconds` and makes about four transactions in each.
CREATE PROCEDURE shop_traffic(seconds integer) LANGUAGE plpgsql AS $$
DECLARE
    until_time timestamptz := clock_timestamp() + make_interval(secs => seconds);
    chosen bigint;
    price numeric(12, 2);
    step integer := 0;
BEGIN
    WHILE clock_timestamp() < until_time LOOP
        step := step + 1;
        CASE step % 6
        WHEN 1, 4 THEN
            price := round((5 + random() * 200)::numeric, 2);
            INSERT INTO orders (customer_id, total, items, note)
            VALUES (1 + floor(random() * 5)::int, price,
                    jsonb_build_array(jsonb_build_object('sku', 'B-' || floor(random() * 900)::int,
                                                         'count', 1 + floor(random() * 3)::int)),
                    CASE WHEN random() < 0.3 THEN 'Leave it at the "back" door' END);
        WHEN 2, 5 THEN
            SELECT id, total INTO chosen, price FROM orders
            WHERE status = 'placed' ORDER BY id LIMIT 1;
            IF FOUND THEN
                INSERT INTO payments (order_id, amount, method)
                VALUES (chosen, price, (ARRAY['card', 'transfer'])[1 + floor(random() * 2)::int]);
                UPDATE orders SET status = 'paid' WHERE id = chosen;
            END IF;
        WHEN 3 THEN
            UPDATE orders SET status = 'shipped'
            WHERE id = (SELECT id FROM orders WHERE status = 'paid' ORDER BY id LIMIT 1);
            UPDATE customers SET settings = jsonb_build_object('seen', step)
            WHERE id = 1 + floor(random() * 5)::int;
        ELSE
            DELETE FROM orders
            WHERE id = (SELECT id FROM orders WHERE status = 'shipped' ORDER BY id LIMIT 1);
        END CASE;
        COMMIT;
        PERFORM pg_sleep(0.25);
    END LOOP;
END
$$;
