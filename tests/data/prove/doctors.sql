-- At least one doctor stays on call.
CREATE TABLE doctor (name text PRIMARY KEY, on_call boolean NOT NULL);
INSERT INTO doctor VALUES ('alice', true), ('bob', true);

CREATE FUNCTION leave(who text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT count(*) FROM doctor WHERE on_call) >= 2 THEN
    UPDATE doctor SET on_call = false WHERE name = who;
  END IF;
END $$;

--@ invariant someone: EXISTS (SELECT 1 FROM doctor WHERE on_call)
--@ run leave('alice'), leave('bob')
