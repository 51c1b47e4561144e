import os
import psycopg2
