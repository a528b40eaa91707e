-- Objects that the path finds where built-in ones are meant: with them, next to nothing is certain.
CREATE TABLE public.pg_class (k int PRIMARY KEY, a text);
CREATE FUNCTION lower(int) RETURNS int LANGUAGE sql VOLATILE AS 'UPDATE public.kv SET b = b + 1 WHERE k = $1 RETURNING b';
CREATE FUNCTION same_bool(int, bool) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT ($1 > 2) IS NOT DISTINCT FROM $2';
CREATE OPERATOR = (LEFTARG = int, RIGHTARG = bool, FUNCTION = same_bool);
CREATE AGGREGATE count(word) (SFUNC = count_step, STYPE = bigint, INITCOND = '0');
INSERT INTO public.pg_class VALUES (1, 'x'), (2, 'y');
GRANT ALL ON TABLE public.pg_class TO reread_plain;
CREATE FUNCTION other.always_true(int, int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT true';
CREATE OPERATOR other.= (LEFTARG = int, RIGHTARG = int, FUNCTION = other.always_true);
CREATE AGGREGATE shop.count(text) (SFUNC = count_step, STYPE = bigint, INITCOND = '0');
CREATE FUNCTION shop.lower(int) RETURNS int LANGUAGE sql VOLATILE AS 'UPDATE public.kv SET b = b + 1 WHERE k = $1 RETURNING b';
