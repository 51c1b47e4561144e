DEFAULT_HOURS = 24


def next_watering(plant, hours=DEFAULT_HOURS):
    # TODO: succulents need less
    # TODO: take the season into account
    return hours
