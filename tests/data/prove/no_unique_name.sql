-- Two people take one name: a look before the INSERT is no help, the index is.
CREATE TABLE person (id serial PRIMARY KEY, name text NOT NULL);

CREATE FUNCTION take(n text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM person WHERE name = n) THEN RETURN false; END IF;
  INSERT INTO person (name) VALUES (n);
  RETURN FOUND;
END $$;

--@ invariant one: NOT EXISTS (SELECT 1 FROM person a JOIN person b ON a.name = b.name WHERE a.id <> b.id)
--@ run take('eve'), take('eve')
