def shorten(s, n=20):
    return s if len(s) <= n else s[: n - 1] + "..."
