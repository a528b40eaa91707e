CREATE TABLE item (id int PRIMARY KEY, stock int NOT NULL);
CREATE TABLE sale (id serial PRIMARY KEY, item int NOT NULL, quantity int NOT NULL);
INSERT INTO item VALUES (7, 100);

CREATE FUNCTION buy(i int, q int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE remaining int;
BEGIN
  SELECT stock INTO remaining FROM item WHERE id = i;
  IF remaining >= q THEN
    UPDATE item SET stock = remaining - q WHERE id = i;
    INSERT INTO sale (item, quantity) VALUES (i, q);
  END IF;
END $$;

--@ assert sold: (SELECT stock FROM item WHERE id = 7) + (SELECT coalesce(sum(quantity), 0) FROM sale) = 100
--@ run buy(7, 1..100), buy(7, 1..100)
