CREATE TABLE acc (id int PRIMARY KEY, used int NOT NULL DEFAULT 0);
CREATE FUNCTION open(i int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO acc (id) VALUES (i);
END $$;
--@ invariant none: NOT EXISTS (SELECT 1 FROM acc)
--@ run open(1), open(2)
