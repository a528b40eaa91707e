CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL CHECK (balance >= 0));
INSERT INTO account VALUES (1, 100), (2, 100), (3, 100);

CREATE FUNCTION move(a int, b int, v int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE account SET balance = balance - v WHERE id = a AND balance >= v;
  IF FOUND THEN
    UPDATE account SET balance = balance + v WHERE id = b;
  END IF;
END $$;

--@ assert whole: (SELECT sum(balance) FROM account) = 300
--@ run move(1, 2, 1..100), move(2, 3, 1..100), move(3, 1, 1..100)
