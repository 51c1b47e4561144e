CREATE TABLE Customers (
  CustomerNo INTEGER PRIMARY KEY,
  FullName TEXT NOT NULL,
  Town TEXT,
  Phone TEXT,
  MemberSince TEXT
);
CREATE TABLE Bikes (
  Sku TEXT PRIMARY KEY,
  Brand TEXT NOT NULL,
  Model TEXT NOT NULL,
  Category TEXT NOT NULL,
  PriceEUR REAL NOT NULL,
  Stock INTEGER NOT NULL DEFAULT 0,
  FrameCm INTEGER
);
CREATE TABLE Sales (
  SaleNo INTEGER PRIMARY KEY,
  CustomerNo INTEGER REFERENCES Customers(CustomerNo),
  Sku TEXT NOT NULL REFERENCES Bikes(Sku),
  Qty INTEGER NOT NULL,
  UnitPriceEUR REAL NOT NULL,
  SoldOn TEXT NOT NULL
);
CREATE TABLE Mechanics (
  MechanicNo INTEGER PRIMARY KEY,
  Name TEXT NOT NULL,
  Speciality TEXT,
  HourlyEUR REAL NOT NULL,
  WorksSaturdays INTEGER NOT NULL
);
CREATE TABLE Repairs (
  JobNo INTEGER PRIMARY KEY,
  CustomerNo INTEGER NOT NULL REFERENCES Customers(CustomerNo),
  MechanicNo INTEGER REFERENCES Mechanics(MechanicNo),
  Problem TEXT NOT NULL,
  BroughtIn TEXT NOT NULL,
  FinishedOn TEXT,
  CostEUR REAL,
  Paid INTEGER NOT NULL DEFAULT 0
);
INSERT INTO Customers VALUES
 (1,'Saoirse O''Neill','Galway','555-0101','2019-04-11'),
 (2,'Tomas Brandt','Athlone','555-0102',NULL),
 (3,'Mary D''Arcy','Galway',NULL,'2021-02-01'),
 (4,'Piotr Zielinski','Oranmore','555-0104','2020-07-19'),
 (5,'Kwame Boateng','Galway','555-0105',NULL),
 (6,'Lucy Hennessy','Tuam','555-0106','2022-05-30'),
 (7,'Sean Hennessy','Tuam','555-0107',NULL),
 (8,'Ingrid Moe','Athlone',NULL,'2018-09-09'),
 (9,'Rafael Costa','Oranmore','555-0109','2023-03-14'),
 (10,'Nuala Byrne','Clifden','555-0110',NULL),
 (11,'Declan Fahy',NULL,'555-0111','2023-11-02'),
 (12,'Yuki Mori','Galway','555-0112','2024-01-20'),
 (13,'Bob Quigley','Clifden',NULL,NULL),
 (14,'Eimear Walsh','Galway','555-0114','2017-06-06');
INSERT INTO Bikes VALUES
 ('CT-100','Corrib','Town Hopper','city',549.00,6,52),
 ('CT-120','Corrib','Town Hopper Plus','city',699.00,2,54),
 ('CT-200','Velomar','Lady Grey','city',620.00,0,50),
 ('RD-300','Velomar','Sprint 3','road',1290.00,3,56),
 ('RD-310','Velomar','Sprint 5','road',1850.00,1,56),
 ('RD-400','Kestrel','Gale','road',2450.00,0,58),
 ('MT-500','Kestrel','Boulder','mountain',1399.00,4,48),
 ('MT-510','Kestrel','Boulder Pro','mountain',2199.00,2,50),
 ('MT-600','Corrib','Bog Trotter','mountain',899.00,5,52),
 ('EB-700','Velomar','Volt City','electric',2299.00,3,52),
 ('EB-710','Lumen','Drift','electric',2799.00,2,54),
 ('EB-720','Lumen','Drift Cargo','electric',4350.00,1,NULL),
 ('KD-800','Corrib','Piglet 16','kids',219.00,8,NULL),
 ('KD-810','Corrib','Piglet 20','kids',259.00,7,NULL),
 ('KD-820','Lumen','Sparky 24','kids',389.00,0,NULL),
 ('GR-900','Kestrel','Turlough','gravel',1690.00,2,56);
INSERT INTO Sales VALUES
 (1001,1,'CT-100',1,549.00,'2024-01-13'),
 (1002,4,'RD-300',1,1250.00,'2024-01-20'),
 (1003,6,'KD-800',2,219.00,'2024-02-03'),
 (1004,NULL,'CT-100',1,549.00,'2024-02-10'),
 (1005,8,'EB-700',1,2299.00,'2024-02-17'),
 (1006,2,'MT-600',1,850.00,'2024-02-24'),
 (1007,5,'CT-120',1,699.00,'2024-03-02'),
 (1008,14,'EB-710',1,2700.00,'2024-03-09'),
 (1009,9,'GR-900',1,1690.00,'2024-03-16'),
 (1010,NULL,'KD-810',1,259.00,'2024-03-16'),
 (1011,1,'KD-820',1,389.00,'2024-03-23'),
 (1012,12,'MT-510',1,2199.00,'2024-04-06'),
 (1013,3,'CT-200',1,600.00,'2024-04-13'),
 (1014,4,'KD-810',2,250.00,'2024-04-13'),
 (1015,11,'RD-310',1,1850.00,'2024-04-20'),
 (1016,7,'MT-600',2,880.00,'2024-05-04'),
 (1017,14,'EB-720',1,4350.00,'2024-05-11'),
 (1018,10,'CT-100',1,520.00,'2024-05-18'),
 (1019,NULL,'KD-800',1,219.00,'2024-05-18'),
 (1020,6,'EB-700',1,2250.00,'2024-05-25'),
 (1021,12,'KD-800',1,219.00,'2024-06-01'),
 (1022,1,'MT-500',1,1399.00,'2024-06-08');
INSERT INTO Mechanics VALUES
 (1,'Fergal','wheels',38.00,1),(2,'Agnieszka','electrics',46.00,0),(3,'Bart','brakes',40.00,1),
 (4,'Shauna','suspension',44.00,0),(5,'Old Mick',NULL,35.00,1),(6,'Leon','electrics',42.50,1),
 (7,'Priya','gears',41.00,0),(8,'Donal','frames',47.50,0);
INSERT INTO Repairs VALUES
 (1,1,3,'squeaking front brake','2024-05-02','2024-05-04',45.00,1),
 (2,5,1,'buckled rear wheel','2024-05-03','2024-05-10',62.50,1),
 (3,8,2,'battery does not charge','2024-05-06','2024-05-20',180.00,0),
 (4,2,7,'chain slips in third gear','2024-05-07','2024-05-09',38.00,1),
 (5,13,5,'general service','2024-05-10','2024-05-13',75.00,0),
 (6,4,4,'fork leaks oil','2024-05-14','2024-05-28',140.00,1),
 (7,10,3,'rear brake cable torn','2024-05-15','2024-05-16',29.00,1),
 (8,14,6,'display stays dark','2024-05-21','2024-06-04',95.00,1),
 (9,3,1,'flat tyre','2024-05-24','2024-05-24',18.00,1),
 (10,9,NULL,'cracked frame','2024-05-27',NULL,NULL,0),
 (11,6,2,'motor cuts out','2024-05-29',NULL,NULL,0),
 (12,7,3,'spongy hydraulic brakes','2024-06-01','2024-06-05',55.00,0),
 (13,1,7,'gears need adjusting','2024-06-03','2024-06-05',32.00,1),
 (14,12,4,'rear shock has no rebound','2024-06-04',NULL,NULL,0),
 (15,11,1,'two broken spokes','2024-06-06','2024-06-07',34.50,1),
 (16,2,NULL,'general service','2024-06-07',NULL,NULL,0),
 (17,14,6,'charger socket loose','2024-06-10',NULL,NULL,0),
 (18,5,1,'buckled front wheel','2024-06-11',NULL,NULL,0);
