import json
import sys
from schedule import next_watering
from mailer import send


def load(path):
    with open(path) as f:
        return json.load(f)


def main():
    cfg = load(sys.argv[1])
    # TODO: check that the file exists
    for plant in cfg["plants"]:
        print(plant, next_watering(plant, cfg["interval_hours"]))


if __name__ == "__main__":
    main()
