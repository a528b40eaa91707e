-- The owner of an account is one of the first rows, and stays.
CREATE TABLE owner (id int PRIMARY KEY);
CREATE TABLE account (id int PRIMARY KEY, owner int REFERENCES owner, kind char(3) NOT NULL DEFAULT 'new');
INSERT INTO owner VALUES (1), (2);
CREATE FUNCTION open(account int, owner_of int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO account (id, owner) VALUES (account, owner_of);
END $$;
--@ invariant owners: NOT EXISTS (SELECT 1 FROM account WHERE owner NOT IN (1, 2) OR kind <> 'new')
--@ run open(1, 1..3), open(2, null)
