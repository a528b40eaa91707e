CREATE TABLE course (id int PRIMARY KEY);
CREATE TABLE enrolment (student int, course int, PRIMARY KEY (student, course));
INSERT INTO course VALUES (1);

CREATE FUNCTION enrol(s int, c int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM course WHERE id = c) THEN
    INSERT INTO enrolment VALUES (s, c);
  END IF;
END $$;

CREATE FUNCTION drop_course(c int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM enrolment WHERE course = c) THEN
    DELETE FROM course WHERE id = c;
  END IF;
END $$;

--@ invariant no_orphan: NOT EXISTS (SELECT 1 FROM enrolment e WHERE NOT EXISTS (SELECT 1 FROM course c WHERE c.id = e.course))
--@ run enrol(1, 1), drop_course(1)
