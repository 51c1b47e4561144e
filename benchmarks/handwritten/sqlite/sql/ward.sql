CREATE TABLE departments (
  dept_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  floor INTEGER NOT NULL,
  head_id INTEGER REFERENCES staff(staff_id)
);
CREATE TABLE staff (
  staff_id INTEGER PRIMARY KEY,
  first_name TEXT NOT NULL,
  last_name TEXT NOT NULL,
  role TEXT NOT NULL,
  dept_id INTEGER REFERENCES departments(dept_id),
  hired_on TEXT NOT NULL,
  phone TEXT,
  hours_per_week REAL NOT NULL
);
CREATE TABLE shifts (
  shift_id INTEGER PRIMARY KEY,
  staff_id INTEGER NOT NULL REFERENCES staff(staff_id),
  day TEXT NOT NULL,
  slot TEXT NOT NULL CHECK (slot IN ('early','late','night'))
);
CREATE TABLE patients (
  patient_id INTEGER PRIMARY KEY,
  full_name TEXT NOT NULL,
  dept_id INTEGER NOT NULL REFERENCES departments(dept_id),
  bed TEXT,
  admitted_on TEXT NOT NULL,
  discharged_on TEXT,
  allergies TEXT
);
INSERT INTO departments VALUES
 (1,'Cardiology',3,104),(2,'Dermatology',1,109),(3,'Orthopaedics',2,112),(4,'Paediatrics',4,117),
 (5,'Emergency',0,NULL),(6,'Radiology',0,123),(7,'Maternity',4,126),(8,'Palliative Care',5,NULL);
INSERT INTO staff VALUES
 (101,'Aoife','O''Connell','nurse',1,'2015-03-02','2201',38.5),
 (102,'Bernd','Falk','nurse',1,'2021-09-15','2202',30),
 (103,'Chidi','Okafor','physician',1,'2018-01-08','2203',40),
 (104,'Dagmar','Weiss','physician',1,'2009-06-01','2204',42),
 (105,'Emil','Strand','nurse',1,'2023-02-20',NULL,20),
 (106,'Fatima','Haddad','nurse',2,'2019-11-04','2206',38.5),
 (107,'Gio','D''Angelo','physician',2,'2020-05-18',NULL,40),
 (108,'Hanna','Lind','receptionist',2,'2022-08-01','2208',25),
 (109,'Ivo','Marek','physician',2,'2011-10-10','2209',40),
 (110,'Jun','Takeda','nurse',3,'2016-07-25','2210',38.5),
 (111,'Kerstin','Holm','physiotherapist',3,'2017-04-03','2211',32),
 (112,'Lamar','Briggs','physician',3,'2013-02-11','2212',40),
 (113,'Mina','Sorokina','nurse',3,'2024-01-15','2213',38.5),
 (114,'Noah','Falk','physiotherapist',3,'2022-03-28',NULL,16),
 (115,'Olive','Penn','nurse',4,'2014-09-01','2215',38.5),
 (116,'Pavel','Novak','nurse',4,'2018-12-03','2216',30),
 (117,'Quinn','Adeyemi','physician',4,'2012-05-07','2217',40),
 (118,'Rosa','Vidal','physician',4,'2023-10-02','2218',24),
 (119,'Sami','Nieminen','nurse',5,'2017-08-14','2219',40),
 (120,'Tove','Berg','nurse',5,'2020-02-03',NULL,40),
 (121,'Umar','Siddiqui','physician',5,'2019-06-17','2221',44),
 (122,'Vera','O''Brien','receptionist',5,'2016-01-04','2222',38.5),
 (123,'Walter','Kohl','physician',6,'2008-04-21','2223',40),
 (124,'Xenia','Papas','radiographer',6,'2021-06-07','2224',36),
 (125,'Yusuf','Demir','radiographer',6,'2024-05-13',NULL,36),
 (126,'Zora','Lindqvist','midwife',7,'2010-03-15','2226',38.5),
 (127,'Anna','Bauer','midwife',7,'2022-11-21','2227',28),
 (128,'Ben','Castro','nurse',NULL,'2024-06-03','2228',38.5);
INSERT INTO shifts VALUES
 (1,101,'2024-07-01','early'),(2,102,'2024-07-01','late'),(3,105,'2024-07-01','night'),
 (4,110,'2024-07-01','early'),(5,113,'2024-07-01','late'),(6,115,'2024-07-01','early'),
 (7,119,'2024-07-01','early'),(8,120,'2024-07-01','night'),(9,121,'2024-07-01','late'),
 (10,126,'2024-07-01','night'),(11,101,'2024-07-02','early'),(12,102,'2024-07-02','night'),
 (13,106,'2024-07-02','early'),(14,110,'2024-07-02','late'),(15,113,'2024-07-02','night'),
 (16,116,'2024-07-02','early'),(17,119,'2024-07-02','late'),(18,120,'2024-07-02','night'),
 (19,121,'2024-07-02','early'),(20,127,'2024-07-02','early'),(21,103,'2024-07-03','early'),
 (22,105,'2024-07-03','late'),(23,106,'2024-07-03','early'),(24,113,'2024-07-03','night'),
 (25,115,'2024-07-03','late'),(26,116,'2024-07-03','night'),(27,119,'2024-07-03','early'),
 (28,120,'2024-07-03','late'),(29,121,'2024-07-03','night'),(30,126,'2024-07-03','early'),
 (31,101,'2024-07-04','late'),(32,103,'2024-07-04','night'),(33,110,'2024-07-04','early'),
 (34,115,'2024-07-04','early'),(35,118,'2024-07-04','late'),(36,119,'2024-07-04','night'),
 (37,120,'2024-07-04','early'),(38,127,'2024-07-04','late'),(39,126,'2024-07-04','night');
INSERT INTO patients VALUES
 (1,'Marta Ruiz',1,'C-01','2024-06-20',NULL,'penicillin'),
 (2,'Peter O''Hara',1,'C-02','2024-06-25',NULL,NULL),
 (3,'Greta Simm',1,'C-04','2024-06-28','2024-07-02','latex'),
 (4,'Hugo Blanc',1,'C-05','2024-07-01',NULL,NULL),
 (5,'Ines Duarte',2,'D-01','2024-06-30',NULL,'nickel'),
 (6,'Karl Otto',2,NULL,'2024-06-11','2024-06-14',NULL),
 (7,'Lena Forst',3,'O-01','2024-06-15',NULL,'ibuprofen'),
 (8,'Milo Grant',3,'O-02','2024-06-27',NULL,NULL),
 (9,'Nadia Rahman',3,'O-03','2024-06-29',NULL,'penicillin'),
 (10,'Oskar Beyer',3,'O-05','2024-06-10','2024-06-24',NULL),
 (11,'Pia Keller',4,'P-01','2024-07-01',NULL,'peanuts'),
 (12,'Timmy Shaw',4,'P-02','2024-07-02',NULL,NULL),
 (13,'Ella Shaw',4,'P-03','2024-07-02',NULL,NULL),
 (14,'Roy Dekker',5,NULL,'2024-07-03',NULL,NULL),
 (15,'Sina Aalto',5,'E-02','2024-07-03',NULL,'penicillin'),
 (16,'Viktor Nagy',5,'E-03','2024-07-02','2024-07-03',NULL),
 (17,'Carla Jimenez',7,'M-01','2024-07-01',NULL,NULL),
 (18,'Dora Klein',7,'M-02','2024-06-29','2024-07-02','latex'),
 (19,'Edith Moreau',8,'L-01','2024-05-30',NULL,'morphine'),
 (20,'Frank Ito',8,'L-02','2024-06-18',NULL,NULL);
