"""A shop of local pages for the browser, and tasks about it.

    shop.py serve PORT             serves the pages on 127.0.0.1
    shop.py tasks N URL            prints N tasks as JSON lines: of five, three to learn from, one to validate, one to test

The front page lists all products, so its accessibility tree is long: the middle of it is cut before a model reads it. The letters
above the list lead to short pages, and these to a page for each product, which alone has the price.
"""

import html
import json
import random
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ADJECTIVES = "amber bold calm dusty early faint green hazel ivory jolly keen light mellow narrow old pale quiet rapid small tidy".split()
NOUNS = "anvil basket candle drum envelope flute globe hammer inkwell jar kettle lantern mirror needle".split()


def products():
    """All products with their prices: the same ones in each process."""
    draw = random.Random(1)
    return {f"{a} {n}": f"{draw.randrange(300, 9900) / 100:.2f} EUR" for a in ADJECTIVES for n in NOUNS}


def link(path, text):
    return f'<a href="/{path}">{html.escape(text)}</a>'


def page(path):
    """The title and the body at a path; None where nothing is."""
    all_products = products()
    if path == "":
        letters = " ".join(link(f"letter/{x}", x.upper()) for x in sorted({name[0] for name in all_products}))
        rows = "".join(f"<li>{html.escape(name)}</li>" for name in all_products)
        return "Shop", f"<nav>{letters}</nav><ul>{rows}</ul>"
    kind, _, name = path.partition("/")
    name = name.replace("-", " ")
    if kind == "letter":
        return name.upper(), "<ul>" + "".join(f"<li>{link('product/' + x.replace(' ', '-'), x)}</li>" for x in all_products if x[0] == name) + "</ul>"
    if kind == "product" and name in all_products:
        return name, f"<p>Price: {all_products[name]}</p>{link('', 'All products')}"
    return None


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        found = page(self.path.strip("/"))
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        title, body = found or ("404", "<p>Nothing is here.</p>")
        self.wfile.write(f"<!doctype html><html lang=en><title>{title}</title><h1>{title}</h1>{body}</html>".encode())

    def log_message(self, *_):
        pass


def tasks(n, url):
    names = sorted(products())
    random.Random(2).shuffle(names)
    for i, name in enumerate(names[:n]):
        wording = ["Open {url} and tell me the price of the {name}.", "What does the {name} cost in the shop at {url}?"][i % 2]
        print(json.dumps({"id": f"shop-{i}", "task": wording.format(url=url, name=name), "split": ["train", "train", "train", "validation", "test"][i % 5],
                          "checks": [{"type": "answer", "contains": products()[name]}]}))


if sys.argv[1:2] == ["serve"]:
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Pages)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
elif sys.argv[1:2] == ["tasks"]:
    tasks(int(sys.argv[2]), sys.argv[3])
else:
    sys.exit(__doc__)
