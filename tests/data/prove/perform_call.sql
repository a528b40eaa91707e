-- Two ways out of a function that is called, one of them early.
CREATE TABLE acc (id int PRIMARY KEY, bal int NOT NULL);
INSERT INTO acc VALUES (1, 10);
CREATE FUNCTION may(i int, v int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE b int;
BEGIN
  SELECT bal INTO b FROM acc WHERE id = i;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF b < v THEN RETURN false; END IF;
  RETURN true;
END $$;
CREATE FUNCTION take(i int, v int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE acc SET bal = bal - v WHERE id = i;
END $$;
CREATE FUNCTION pay(i int, b int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF may(i, b) THEN
    PERFORM take(i, b);
  END IF;
END $$;
--@ invariant nonneg: NOT EXISTS (SELECT 1 FROM acc WHERE bal < 0)
--@ run pay(1, 6), pay(1, 1..7)
