CREATE TABLE room    (id int PRIMARY KEY, seats int NOT NULL);
CREATE TABLE booking (id serial PRIMARY KEY, room int NOT NULL, slot int NOT NULL, people int NOT NULL);
INSERT INTO room VALUES (1, 10);

CREATE FUNCTION book_locked(r int, s int, p int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE used int; cap int;
BEGIN
  SELECT seats INTO cap FROM room WHERE id = r FOR UPDATE;
  SELECT coalesce(sum(people), 0) INTO used FROM booking WHERE room = r AND slot = s;
  IF used + p > cap THEN RETURN false; END IF;
  INSERT INTO booking (room, slot, people) VALUES (r, s, p);
  RETURN true;
END $$;

--@ invariant seats: NOT EXISTS (SELECT 1 FROM room m WHERE m.seats < (SELECT sum(b.people) FROM booking b WHERE b.room = m.id AND b.slot = 1))
--@ run book_locked(1, 1, 1..10), book_locked(1, 1, 1..10)
