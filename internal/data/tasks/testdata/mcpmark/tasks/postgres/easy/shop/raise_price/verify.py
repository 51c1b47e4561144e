import psycopg2
