CREATE TABLE voucher (code text PRIMARY KEY, amount int NOT NULL);
CREATE TABLE payment (id serial PRIMARY KEY, voucher text NOT NULL, amount int NOT NULL);
INSERT INTO voucher VALUES ('SPRING', 50);

CREATE FUNCTION checkout(c text, price int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE left_over int;
BEGIN
  SELECT amount INTO left_over FROM voucher WHERE code = c;
  IF NOT FOUND OR left_over < price THEN RETURN false; END IF;
  INSERT INTO payment (voucher, amount) VALUES (c, price);
  UPDATE voucher SET amount = left_over - price WHERE code = c;
  RETURN true;
END $$;

--@ assert spent: (SELECT amount FROM voucher WHERE code = 'SPRING') + (SELECT coalesce(sum(p.amount), 0) FROM payment p) = 50
--@ run checkout('SPRING', 30), checkout('SPRING', 30)
