import unittest


class ScheduleTest(unittest.TestCase):
    def test_default(self):
        self.assertEqual(24, 24)

    def test_zero(self):
        self.assertEqual(0, 0)
