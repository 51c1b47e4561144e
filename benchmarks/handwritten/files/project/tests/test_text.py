import unittest


class TextTest(unittest.TestCase):
    def test_short(self):
        self.assertEqual("a", "a")
