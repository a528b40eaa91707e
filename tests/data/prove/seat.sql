-- A seat is a row with a key of two columns; whether it is taken shows in another table.
CREATE TABLE seat (flight int, number int, class int NOT NULL, PRIMARY KEY (flight, number));
CREATE TABLE ticket (id serial PRIMARY KEY, flight int NOT NULL, seat int NOT NULL);
INSERT INTO seat VALUES (1, 1, 1), (1, 2, 1);

CREATE FUNCTION buy(s int, f int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM ticket WHERE flight = f AND seat = s) THEN RETURN false; END IF;
  INSERT INTO ticket (flight, seat) VALUES (f, s);
  RETURN true;
END $$;

--@ invariant once: NOT EXISTS (SELECT 1 FROM ticket a JOIN ticket b ON a.flight = b.flight AND a.seat = b.seat AND a.id < b.id)
--@ run buy(1, 1), buy(1, 1), buy(2, 1)
