CREATE TABLE warehouse (id int PRIMARY KEY, ytd int NOT NULL);
CREATE TABLE district (id int PRIMARY KEY, ytd int NOT NULL);
INSERT INTO warehouse VALUES (1, 0);
INSERT INTO district VALUES (1, 0), (2, 0);
CREATE FUNCTION pay(d int, v int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE warehouse SET ytd = ytd + v WHERE id = 1;
  UPDATE district SET ytd = ytd + v WHERE id = d;
END $$;
--@ invariant: (SELECT ytd FROM warehouse WHERE id = 1) = (SELECT sum(ytd) FROM district)
--@ run pay(1, 1..99), pay(2, 1..99)
