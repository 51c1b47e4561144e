CREATE TABLE hangar (
  id INTEGER PRIMARY KEY,
  label TEXT NOT NULL UNIQUE,
  slots INTEGER NOT NULL,
  heated INTEGER NOT NULL,
  monthly_rent INTEGER NOT NULL
);
CREATE TABLE aircraft (
  tail_no TEXT PRIMARY KEY,
  type TEXT NOT NULL,
  owner TEXT NOT NULL,
  hangar_id INTEGER REFERENCES hangar(id),
  hours_flown REAL NOT NULL,
  built INTEGER,
  last_inspection TEXT
);
CREATE TABLE mechanic (
  code TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  licence TEXT NOT NULL,
  day_rate INTEGER NOT NULL,
  valid_until TEXT
);
CREATE TABLE work_order (
  no INTEGER PRIMARY KEY,
  tail_no TEXT NOT NULL REFERENCES aircraft(tail_no),
  mechanic TEXT REFERENCES mechanic(code),
  task TEXT NOT NULL,
  priority INTEGER NOT NULL,
  status TEXT NOT NULL,
  opened TEXT NOT NULL,
  closed TEXT,
  est_hours REAL
);
CREATE TABLE part (
  part_no TEXT PRIMARY KEY,
  description TEXT NOT NULL,
  on_hand INTEGER NOT NULL,
  reorder_at INTEGER NOT NULL,
  unit_cost_cents INTEGER NOT NULL,
  supplier TEXT
);
INSERT INTO hangar VALUES
 (1,'North',4,1,900),(2,'South',6,0,1100),(3,'Old Barn',3,0,450),(4,'Paint Shop',1,1,700),
 (5,'East A',2,1,650),(6,'East B',2,1,650),(7,'Glider Shed',8,0,380),(8,'Annex',2,0,300);
INSERT INTO aircraft VALUES
 ('D-EKLM','Cessna 172','Flying Club Rotmoos',1,8421.5,1978,'2024-02-12'),
 ('D-EABC','Piper PA-28','Flying Club Rotmoos',1,6110.0,1984,'2023-11-30'),
 ('D-EQRT','Diamond DA40','J. O''Malley',1,1204.3,2009,'2024-04-02'),
 ('D-GHIJ','Piper Seneca','Norddal Air Taxi',2,9870.2,1981,'2024-01-19'),
 ('D-IXYZ','Beech King Air','Norddal Air Taxi',2,12450.7,1990,'2024-05-06'),
 ('D-ELSA','Cessna 152','Elsa Vogt',2,7300.0,1979,'2023-09-14'),
 ('D-EMIL','Robin DR400','Emil Gaspard',3,2950.8,1995,'2024-03-21'),
 ('D-EOLD','Bucker Jungmann','Aero Museum Trust',3,1875.0,1938,NULL),
 ('D-ENUT','Piper Cub','Aero Museum Trust',3,4410.4,1946,'2022-10-05'),
 ('D-EPNT','Cessna 182','M. D''Souza',4,5120.9,1987,'2024-05-20'),
 ('D-EFUN','Extra 300','Looping Sisters GbR',5,980.6,2012,'2024-04-28'),
 ('D-EFLY','Cessna 172','Looping Sisters GbR',5,3312.0,2001,'2023-12-11'),
 ('D-KITE','Grob 109','Glider Friends',7,5540.5,1986,'2024-03-03'),
 ('D-1234','ASK 21','Glider Friends',7,6200.1,1983,'2024-03-03'),
 ('D-5678','LS4','Glider Friends',7,3899.0,1988,'2023-08-17'),
 ('D-9012','Discus','Hanne Brodersen',7,2210.7,1992,NULL),
 ('D-EWET','Cessna 206','Norddal Air Taxi',NULL,10230.0,1985,'2023-07-22'),
 ('D-MINI','Ikarus C42','Elsa Vogt',8,640.2,2018,'2024-06-01');
INSERT INTO mechanic VALUES
 ('BRK','Birgit Kranz','engine',420,'2025-03-31'),
 ('TOM','Tom Eriksen','engine',390,'2024-12-31'),
 ('LUZ','Luz Herrera','avionics',480,'2026-01-15'),
 ('ODO','Odo van ''t Hoff','airframe',405,'2024-08-31'),
 ('SIN','Sinead O''Dowd','airframe',430,'2025-10-10'),
 ('KAM','Kamil Bielik','avionics',450,NULL),
 ('PET','Petra Sand','paint',360,'2025-06-30'),
 ('GUS','Gus Lamprecht','gliders',310,'2024-07-15');
INSERT INTO work_order VALUES
 (201,'D-EKLM','BRK','100 hour check',2,'open','2024-06-03',NULL,12),
 (202,'D-EKLM','LUZ','replace transponder',1,'open','2024-06-05',NULL,5),
 (203,'D-EABC','TOM','oil leak',1,'done','2024-05-13','2024-05-15',4),
 (204,'D-EQRT','LUZ','autopilot fault',2,'waiting for parts','2024-05-27',NULL,9),
 (205,'D-GHIJ','BRK','left engine overhaul',1,'open','2024-05-21',NULL,60),
 (206,'D-GHIJ','SIN','corrosion on flap',2,'done','2024-04-15','2024-04-22',14),
 (207,'D-IXYZ','KAM','radar upgrade',3,'open','2024-06-07',NULL,22),
 (208,'D-ELSA','ODO','annual inspection',1,'open','2024-06-04',NULL,16),
 (209,'D-EMIL','ODO','wing fabric patch',3,'done','2024-05-02','2024-05-06',6.5),
 (210,'D-EOLD',NULL,'annual inspection',2,'open','2024-06-01',NULL,30),
 (211,'D-ENUT','SIN','landing gear strut',1,'waiting for parts','2024-05-18',NULL,10),
 (212,'D-EPNT','PET','full repaint',3,'open','2024-05-20',NULL,45),
 (213,'D-EFUN','BRK','propeller balance',2,'done','2024-05-29','2024-05-30',3),
 (214,'D-EFLY','TOM','magneto check',2,'open','2024-06-08',NULL,2.5),
 (215,'D-KITE','GUS','annual inspection',1,'done','2024-02-26','2024-03-03',11),
 (216,'D-1234','GUS','canopy crack',2,'open','2024-06-09',NULL,4),
 (217,'D-5678',NULL,'annual inspection',1,'open','2024-06-10',NULL,11),
 (218,'D-9012','GUS','annual inspection',2,'cancelled','2024-03-11',NULL,11),
 (219,'D-EWET','TOM','fuel pump',1,'waiting for parts','2024-06-02',NULL,7),
 (220,'D-MINI','SIN','brake pads',3,'done','2024-06-01','2024-06-01',1.5),
 (221,'D-EFLY',NULL,'seat belt replacement',3,'open','2024-06-11',NULL,1);
INSERT INTO part VALUES
 ('SP-01','spark plug',36,24,3890,'Aerosupply Ltd'),
 ('OF-02','oil filter',5,10,2450,'Aerosupply Ltd'),
 ('BP-03','brake pad set',8,4,6200,'Wheel & Wing'),
 ('TY-04','main tyre',3,4,18900,'Wheel & Wing'),
 ('TR-05','transponder',0,1,264000,'Avionik Nord'),
 ('MG-06','magneto',2,1,112500,'Aerosupply Ltd'),
 ('FP-07','fuel pump',0,1,78900,NULL),
 ('PL-08','perspex sheet',4,2,9900,'Glider Parts Co'),
 ('SB-09','seat belt',6,2,14300,NULL),
 ('FB-10','fabric roll',1,1,21000,'Wheel & Wing'),
 ('GS-11','gear strut seal',0,2,4700,'Aerosupply Ltd'),
 ('PT-12','white paint 5 l',7,3,13200,'Colour Craft');
