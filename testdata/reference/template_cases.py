"""What make_template_cases.py renders."""

VALUES = {
    "s": "Hello World", "u": "naïve 世界 👩‍👩‍👧 e\u0301", "empty": "", "spaces": " \t\n x y \r\n\u00a0", "csv": "a,b,,c", "lines": "one\ntwo\r\nthree\n\nfour",
    "quote": "it's", "both": "it's \"q\"", "control": "\x00\x1f\x7f\x85\u2028\u200b\ufeff\\ \t", "digits": "0123", "html": "<b class='x'>&\"</b>",
    "i": 7, "neg": -7, "zero": 0, "big": 123456789012345678901234567890, "f": 1.5, "whole": 2.0, "tiny": 1e-07, "huge": 1e16, "third": 0.1, "neg_zero": -0.0,
    "edge": 9223372036854775807, "t": True, "n": None, "fa": False,
    "l": [3, 1, 2], "words": ["b", "A", "c", "a"], "mixed": [1, "a", None, 1.5, True, [1], {"k": "v"}], "nothing": [], "nested": [[1, 2], [3, [4, "x"]]],
    "d": {"z": 1, "a": {"b": [1, {"c": "deep"}]}, "items": "own", "m": None, "A": 2}, "none": {},
    "people": [{"name": "Zoe", "age": 30, "city": "x"}, {"name": "adam", "age": 25, "city": "Y"}, {"name": "Bob", "age": 30, "city": "y"}],
    "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}, {"role": "assistant", "content": "A"}],
    "bools": [True, False], "nums": [1, 2.5, -3, 10], "pairs": [["a", 1], ["b", 2]],
}

EXPRESSIONS = """
1
-1
+1
--1
1.0
1e16
1e-7
1.5e300
123456789012345678
12345678901234567890123
1_000
0x1F
0o17
0b101
0
00
1.0e5
1e400
-1e400
"a" "b"
'a"b'
"a'b"
"\\n\\t\\\\\\'\\"\\x41\\u00e9\\U0001F600\\101\\q"
true
True
false
None
none
[]
[1, "a", none, 1.5, true]
()
(1,)
(1, 2)
1, 2
{}
{"a": 1, 'b': [1, 2]}
{"a": 1}.a
{"a": 1}["a"]
{1: "x", none: 2, 1.5: 3}
{1: "x"}[1]
{1: "x"}[1.0]
{1: "x"}[true]
{1: "x"} | tojson
{none: 1, 2.5: 2} | tojson
1 in {1: 2}
i
neg
big
f
whole
tiny
huge
third
neg_zero
edge
t
n
fa
s
u
l
words
mixed
nested
d
people
quote
[quote]
[both]
[control]
[u]
[html]
missing
missing.attribute
missing["item"]
missing()
missing + 1
1 + missing
missing ~ "x"
missing == missing
missing == none
missing != 1
missing < 1
missing in [1]
missing in "abc"
1 in missing
"a" in missing
-missing
not missing
missing or "x"
missing and "x"
missing | default("d")
missing | length
missing | list
missing | tojson
missing | string
missing | upper
missing | int
missing | float
missing | join(",")
missing | first
missing | items | list
missing | dictsort
missing | map("upper") | list
missing is defined
missing is undefined
missing is none
missing is string
missing is iterable
missing is sequence
missing is mapping
d.missing.more
d.missing is defined
d["missing"] is defined
d.z
d["z"]
d.items
d["items"]
d.a.b[1].c
d.a.b.1.c
d.a.b[0]
d.a.b[-1]
d.a.b[5]
d.a.b["x"]
d.m.x
d.get("z")
d.get("q")
d.get("q", 5)
d.get("q", default=5)
d.get()
d.get([])
d.keys()
d.values()
d.items()
d.items() | list
d.keys() | list
d.copy()
d | length
d | list
d | items | list
d | dictsort
d | dictsort(true)
d | dictsort(false, "value")
{"b": 2, "a": 3, "C": 1} | dictsort(false, "value")
{"b": 2, "a": 3, "C": 1} | dictsort(reverse=true)
{"b": 2, "a": 3, "C": 1} | dictsort(case_sensitive=true)
d | dictsort(by="x")
l | dictsort
d.update({})
d.update
d.pop("z")
d.clear
d.update is defined
l.append(1)
l.append
l.pop()
l.index(1)
l.index(9)
l.count(1)
l.copy()
s.__class__
s.__class__ is defined
s.__class__.__mro__
d.__init__
s.foo
s.foo is defined
s.foo.bar
i.foo
n.foo
n.foo is defined
n["foo"]
n[0]
i[0]
i["a"]
s[0]
s[-1]
s[100]
s["upper"]()
u[6]
u[-1]
s[1.0]
s[true]
l[0]
l[true]
l[1.0]
l["0"]
l[-4]
l[0:2]
l[:2]
l[1:]
l[:]
l[::-1]
l[::2]
l[5:]
l[-2:]
l[:-1]
l[2:0:-1]
l[-1:-10:-2]
l[none:2]
l["a":]
l[::0]
s[::-1]
s[2:5]
s[-3:]
s[:-3]
s[10:2]
s[10:2:-3]
u[2:8]
u[::-1]
u[::3]
(1, 2, 3)[1:]
(1, 2, 3)[::-1]
range(10)[2:8:3]
range(10)[::-1] | list
range(5)[-1]
range(5)[9]
d[1:]
n[1:]
i[1:]
missing[1:]
range(3)
range(1, 4) | list
range(5, 0, -2) | list
range(0) | list
range(1, 2, 0)
range(1000000)
range("a")
range(1.5)
range(3) | length
2 in range(3)
i + 1
i - 10
i * 3
i / 2
i // 2
i % 4
neg // 2
neg % 4
i // -2
i % -4
f // 1
-f // 1
-f % 1
f % -1
5.5 // 2
-5.5 // 2
5.5 % 2
-5.5 % 2
7.0 // 0.1
i ** 2
2 ** 100
2 ** -1
2 ** 0.5
-2 ** 2
2 ** 3 ** 2
0 ** 0
0 ** -1
(-1) ** 101
1 / 0
1 // 0
1 % 0
1.0 / 0
1.5 % 0
0.1 + 0.2
1e308 * 10
edge + 1
edge * edge
-edge - 2
big + 1
big * big
big // 7
-big // 7
big % 7
-big % 7
big / 3
big == big + 0
big > edge
edge + 0.0
9007199254740993 == 9007199254740993.0
1 == 1.0
1 == true
0 == false
"1" == 1
none == false
none == none
[] == ()
[1, 2] == [1, 2.0]
(1, 2) == (1, 2)
{"a": 1, "b": 2} == {"b": 2, "a": 1}
{"a": 1} == {"a": 2}
range(3) == range(0, 3)
s == "Hello World"
s != "x"
1 < 2
1 < 2 < 3
1 < 3 < 2
1 < "a"
"a" < "b"
"a" < "B"
"é" > "z"
[1, 2] < [1, 3]
[1] < [1, 2]
(1, "a") < (1, "b")
[1] < (1,)
[1, "a"] < [1, 2]
none < 1
{} < {}
true < 2
1.5 <= 1.5
2 >= 3
"a" in "abc"
"" in "abc"
"d" not in "abc"
1 in "abc"
1 in l
1.0 in l
"1" in l
none in mixed
"z" in d
"q" in d
[] in d
1 in d
1 in n
1 in i
not 1
not not 1
not ""
not []
1 and 0
0 and x.y
1 and "a"
0 or ""
0 or "a"
1 or x.y
"" or none or []
not true or true
not (true and false)
1 if true else 2
1 if false else 2
1 if false
(1 if false) is defined
1 if true else 2 if true else 3
"a" if missing else "b"
("x" if t else "y") ~ "z"
"x" ~ 1 ~ none ~ true ~ 1.5 ~ [1] ~ missing
1 + 2 ~ 3
"a" ~ 1 + 2
"a" + "b"
"a" + 1
1 + "a"
[1] + [2]
(1,) + (2,)
[1] + (2,)
{} + {}
none + 1
true + 1
true + true
true * 2.5
"ab" * 3
3 * "ab"
"ab" * -1
[1, 2] * 2
"ab" * 1.5
-"a"
+none
-true
"%s and %d" % ("a", 5)
"%s" % "x"
"%s" % n
"%s" % [1]
"%s" % l
"%d" % 3.9
"%d" % "a"
"%5d|%-5d|%05d|%+d" % (1, 2, 3, 4)
"%.2f %e %g %G" % (1.005, 12345.678, 1e-5, 1e20)
"%g %g %g %g" % (100000, 1000000, 0.0001, 1.5)
"%x %X %o %#x" % (255, 255, 8, 255)
"%r" % "a"
"%5s|%-5s|%.2s" % ("a", "b", "cde")
"%%"
"%%" % ()
"%s" % ()
"%s %s" % ("a",)
"%s" % ("a", "b")
"x" % "a"
"x" % 5
"%(a)s" % {"a": 1}
"%(b)s" % {"a": 1}
"%c" % 65
"%q" % 1
"%" % 1
"%*d" % (5, 3)
s.upper()
s.lower()
s.title()
s.capitalize()
s.swapcase()
"ß ǆ ŉ ΑΣ straße ﬁ".upper()
"ΑΣ ΑΣΑ İ".lower()
"Straße".casefold()
"they're bill's friends".title()
"they're bill's friends" | title
"hello-world (foo) [bar] x_y" | title
"école élan".title()
s.split()
s.split("o")
s.split("o", 1)
s.rsplit("o", 1)
s.split(maxsplit=1)
s.split(sep="l", maxsplit=2)
csv.split(",")
csv.split(",", 0)
csv.rsplit(",", 2)
" a  b c ".split()
" a  b c ".split(none, 1)
" a  b c ".rsplit(none, 1)
"".split()
"".split(",")
s.split("")
s.split(1)
spaces.split()
spaces.strip()
spaces.strip() | length
spaces.lstrip()
spaces.rstrip()
"xxaxx".strip("x")
"xyaxy".strip("yx")
"xyaxy".lstrip("xy")
"xyaxy".rstrip("xy")
"xyaxy".strip(none)
s.strip(1)
s.startswith("Hell")
s.startswith(("x", "H"))
s.startswith(["x"])
s.startswith("W", 6)
s.startswith("W", 6, 7)
s.endswith("ld")
s.endswith(("a", "ld"))
s.endswith("lo", 0, 5)
s.startswith()
s.replace("o", "0")
s.replace("o", "0", 1)
s.replace("", "-")
s.replace("x", "y")
s.replace("o")
s.replace(1, 2)
s.find("o")
s.find("o", 5)
s.find("q")
u.find("世")
s.rfind("o")
s.index("W")
s.index("q")
s.rindex("o")
s.count("l")
s.count("")
s.count("l", 4)
u.count("")
", ".join(words)
", ".join(l)
"".join("abc")
"-".join({"a": 1, "b": 2})
",".join(1)
s.partition(" ")
s.partition("q")
s.rpartition("o")
s.rpartition("q")
s.partition("")
"a".center(6, "*") ~ "b".ljust(3, "-") ~ "c".rjust(3) ~ "7".zfill(3) ~ "-7".zfill(4)
"ab".center(5) ~ "|" ~ "abc".center(6) ~ "|"
"a".center(3, "xx")
lines.splitlines()
lines.splitlines(true)
"a\\x0bb\\x0cc\\u2028d".splitlines()
"abc".removeprefix("a").removesuffix("c")
"a\\tb\\t".expandtabs(4)
"abc".isalpha() ~ "ab1".isalnum() ~ "12".isdigit() ~ "²".isdigit() ~ "²".isdecimal() ~ "½".isnumeric()
"".isalpha() ~ "".isascii() ~ "é".isascii() ~ " ".isspace() ~ "".isspace() ~ "a b".isprintable()
"ab".islower() ~ "aB".islower() ~ "1".islower() ~ "AB".isupper() ~ "Ab Cd".istitle() ~ "Ab cd".istitle()
"{} {}".format(1, "a")
"{0} {1} {0}".format("a", "b")
"{x}-{y}".format(x=1, y=none)
"{{}}{}".format(1)
"{}".format()
"{x}".format(y=1)
"}".format()
"{".format()
s.upper(1)
s.split(foo=1)
s | upper
s | lower
s | capitalize
"hELLO wORLD" | capitalize
s | length
u | length
l | length
i | length
n | length
s | count
u | list
s | list
d | first
l | first
l | last
nothing | first
nothing | last
nothing | first is defined
s | first
s | last
u | last
n | first
l | map("string") | last
l | sort
l | sort(reverse=true)
words | sort
words | sort(case_sensitive=true)
mixed | sort
people | sort(attribute="age") | map(attribute="name") | list
people | sort(attribute="age,name") | map(attribute="name") | list
people | sort(reverse=true, attribute="age") | map(attribute="name") | list
people | map(attribute="name") | join(", ")
people | map(attribute="missing", default="-") | join
people | map(attribute="missing") | list
people | map(attribute="a.b") | list
people | map("length") | list
words | map("upper") | join("")
words | map("replace", "a", "x") | list
words | map("nofilter") | list
words | map
words | map(foo=1)
none | map("upper") | list
5 | map("upper") | list
pairs | map(attribute=0) | list
pairs | map("first") | list
pairs | map("last") | list
people | selectattr("age", "equalto", 30) | list | length
people | selectattr("age", ">", 26) | map(attribute="name") | list
people | selectattr("missing") | list
people | selectattr("name") | list | length
people | rejectattr("age", "eq", 30) | map(attribute="name") | list
people | selectattr("age", "notest") | list
people | selectattr
messages | selectattr("role", "in", ["user", "system"]) | map(attribute="content") | join
messages | selectattr("role", "equalto", "tool") | first is defined
nums | select("odd") | list
l | select("odd") | list
l | reject("even") | list
mixed | select | list
mixed | select("string") | list
mixed | reject("none") | list
l | select("divisibleby", 3) | list
l | select("gt", 1) | list
l | select("in", [1, 2]) | list
l | map("string") | list
(l | map("string")) is iterable
l | join
l | join("-")
l | join(d="+")
mixed | join(", ")
people | join(",", attribute="name")
s | join("-")
n | join
l | min
l | max
words | min
words | max
words | max(case_sensitive=true)
nothing | max
people | max(attribute="age")
mixed | min
l | sum
nums | sum
people | sum(attribute="age")
l | sum(start=10)
words | sum
words | sum(start="")
[[1], [2]] | sum(start=[])
words | unique | list
words | unique(case_sensitive=true) | list
people | unique(attribute="age") | map(attribute="name") | list
people | groupby("city") | list
people | groupby("age") | map(attribute=0) | list
l | reverse | list
s | reverse
l | reverse
d | reverse | list
5 | reverse
l | batch(2) | list
l | batch(2, "x") | list
l | slice(2) | list
l | slice(2, "x") | list
s | replace("o", "0")
s | replace("o", "0", 1)
i | replace(7, 8)
s | replace("o")
spaces | trim
"xxaxx" | trim("x")
n | trim
s | default("x")
n | default("x")
n | default("x", true)
empty | default("x", true)
empty | d("x", boolean=true)
missing | default
n | string
[n, t, 1.0, "a"] | string
d.z | string
f | string
i | float
"1.5" | float
" 1e3 " | float
"abc" | float
"abc" | float(9)
"inf" | float
"nan" | float
"1_000" | float
n | float
l | float
t | float
"12" | int
" -12 " | int
"12.7" | int
"abc" | int
"abc" | int(9)
"0x1f" | int(base=16)
"1f" | int(0, 16)
"101" | int(base=2)
"0b11" | int(0, 2)
"1_000" | int
3.9 | int
-3.9 | int
n | int
t | int
l | int
"12345678901234567890" | int
1e20 | int
"1e3" | int
(huge * 1e308) | int
-5 | abs
neg | abs
f | abs
"a" | abs
42.55 | round
42.55 | round(1)
42.55 | round(1, "floor")
42.55 | round(1, "ceil")
2.5 | round
3.5 | round
0.125 | round(2)
i | round
i | round(2, "ceil")
42.5 | round(method="x")
"a" | round
"%s-%s" | format(1, "a")
"%(a)s" | format(a=1)
"%s %(a)s" | format(1, a=2)
"a\\nb\\n\\nc" | indent
"a\\nb\\n\\nc" | indent(2)
"a\\nb\\n\\nc" | indent(2, true)
"a\\nb\\n\\nc" | indent(2, blank=true)
"a\\nb" | indent("> ")
"a\\nb\\n" | indent(2) ~ "|"
"" | indent(2, true) ~ "|"
5 | indent
"a b c d e f g h" | truncate(5)
"a b c d e f g h" | truncate(5, true)
"a b c d e f g h" | truncate(9, false, "..", 0)
"short" | truncate(9)
"a b" | truncate(1)
"some words, here" | wordcount
"a" | center(5) ~ "|"
html | e
html | escape
html | forceescape
html | safe
html | safe ~ html
html | safe + html
html + (html | safe)
html | e + "<"
(html | safe) is escaped
html is escaped
(html | safe | upper) + "<"
(html | safe | replace("b", "c")) + "<"
d | tojson
l | tojson
u | tojson
control | tojson
both | tojson
html | tojson
mixed | tojson
nested | tojson(indent=2)
d | tojson(indent=4)
d | tojson(indent=0)
none | tojson(indent=2)
nothing | tojson(indent=2)
{} | tojson(indent=2)
d | tojson(indent="--")
d | tojson(sort_keys=true)
d | tojson(separators=(",", ":"))
d | tojson(indent=1, separators=(", ", "= "))
u | tojson(ensure_ascii=true)
{"é": "\\x7f"} | tojson(ensure_ascii=True)
u | tojson(ensure_ascii=False)
[tiny, huge, whole, third, neg_zero, big, huge * 1e308, -huge * 1e308, 1e22, 1.5e-10, 123456.789] | tojson
(1, (2, 3)) | tojson
{"a": (1,)} | tojson
range(3) | tojson
[missing] | tojson
{"a": range} | tojson
d | tojson(foo=1)
d.items() | tojson
[tiny, huge, whole, third, neg_zero, big, 1e22, 1.5e-10, 123456.789, 1e15, 123456789012345680.0, 0.0001, 0.00001]
"a" | nofilter
1 is nofilter
"a" if true else ("b" | nofilter)
"lower" is filter
"nofilter" is filter
"odd" is test
s is string
i is string
i is number
f is number
t is number
i is integer
t is integer
f is integer
f is float
t is boolean
i is boolean
t is true
i is true
fa is false
zero is false
n is none
n is not none
d is mapping
l is mapping
l is sequence
s is sequence
d is sequence
i is sequence
l is iterable
s is iterable
i is iterable
n is iterable
d.items() is sequence
d.items() is iterable
range(3) is sequence
range is callable
s is callable
s.upper is callable
missing is callable
i is odd
i is even
f is odd
s is odd
6 is divisibleby 3
6 is divisibleby(4)
6 is divisibleby
s is eq "Hello World"
i is equalto 7
i is ne 7
i is lt 8
i is ge 8
i is greaterthan 1
1 is in [1, 2]
"ab" is lower
"AB" is upper
n is sameas none
t is sameas true
i is not odd
i is not divisibleby 7
i is odd is even
not i is odd
i is defined and s is defined
i is odd or missing
5 is string or true
1 | string is string
[1] is eq [1]
s.split()[0]
(s.split())[-1].upper()
s.split("o")[1:] | join("o")
d.a["b"][1]["c"] | upper
s | upper | lower | title
-i | abs
-(i) ** 2
(-i) | abs
i + neg | abs
2 * 3 + 4 % 3 ** 2
1 + 2 * 3 - 4 / 2
not i == 7
i == 7 and not s == ""
namespace(a=1).a
namespace(a=1, b=2)
namespace({"a": 1}, b=2).b
namespace(a=1).b
namespace(a=1).b is defined
namespace(1)
dict(a=1, b=2)
dict({"a": 1}, a=2)
dict([("a", 1), ("b", 2)])
dict(pairs)
dict(1)
dict([1])
dict(**d)
range(*[1, 4]) | list
dict(**{"x": 1}, **{"y": 2})
cycler("a", "b").next()
joiner("|")()
joiner("|")() ~ "x"
strftime_now("%Y-%m-%d")
strftime_now("%d %b %Y")
strftime_now("%A, %B %d, %Y %H:%M:%S.%f %p %I %j %y %%")
strftime_now("%-d %-m %-H|%e|%a %h %U %W %V %G %u %w %C %D %T %R %F %n %t x")
strftime_now("%c|%x|%X|%Z|%z")
strftime_now()
raise_exception("stop")
raise_exception("stop " ~ i)
raise_exception()
raise_exception(none)
loop
loop is defined
self is defined
s()
i()
n()
d.z()
"a"()
range
1 +
1 2
(1
[1, 2
{"a" 1}
{"a": 1
a.
a[
a[1
"unterminated
'a" ~ 1
1 |
1 | 2
1 is
@
$x
a = 1
a; b
)
]
x if
if x
1 if else 2
not
* 2
a..b
a.[1]
{% x
f(a b)
f(a=1, 2)
f(*a, *b)
f(**a, b=1)
f(,)
[,]
{,}
[1, 2,]
{"a": 1,}
range(2,) | list
(1, 2,)
foo.2
d.a.b.0
[1, 2].1
"a".upper().lower().title()
s | upper()
s | replace("H", "J") | replace("J", "K")
messages[0].role
messages[-1]["content"]
messages | map(attribute="role") | unique | list
messages[1:] | length
messages[::-1] | map(attribute="role") | join(",")
messages | selectattr("role", "eq", "user") | map(attribute="content") | first
messages | length - 1
(messages | length) - 1
bools | select("true") | list
d | attr("z")
s | attr("upper")
(s | attr("upper"))()
lines | replace("\\n", " ")
u | upper
u | capitalize
u | title
"İstanbul" | lower
"ǆ".title()
"1st place".title()
"a-b c".title()
true | string
1.0 | string | length
nested | string
{"a": [1, {"b": none}]} | string
["a\\nb", 'c"d', "e'f", "g\\\\h"]
""".strip("\n").split("\n")

TEMPLATES = [
    # Text, comments, raw.
    "", "\n", "\n\n", "a\n", "a\n\n", "a\r\nb\rc\n", "{", "{ { }", "a{", "}}", "%}", "#}", "{{ '}}' }}", "{{ '{%' }}", "{{ {'a': {'b': 1}} }}",
    "{# c #}", "a{# c #}b", "a\n{# c #}\nb", "a {#- c -#} b", "a {#- c +#}\n b", "{#-#}x", "{#--#}x", "{# unterminated", "{#\n\n#}\n{{ raise_exception('x') }}",
    "{% raw %}{{ x }}{% endraw %}", "a\n{% raw %}\n {{ x }}\n{% endraw %}\nb", "a {%- raw -%} {{ }} {%- endraw -%} b", "{% raw %}{% x %}", "{% raw %}{% endraw x %}{% endraw %}",
    "{%raw%}{%endraw%}|", "  {% raw %} x  {% endraw %}  |", "{% rawx %}",
    # White space control.
    "  {% if t %}\n  x\n  {% endif %}\n  y", "a  {% if t %}b{% endif %}  c", "a\n  {%- if t %}\n  b\n  {%- endif %}\nc", "a  {%- if t -%}  b  {%- endif -%}  c",
    "a\n  {%+ if t %}b{% endif +%}\nc", "  {{ s }}\n  {{- s -}}\n  x", "{{ s }}\n\n{{ s }}\n", "{% if t %}\n\nx{% endif %}\n\n", "\t{% if t %}\t\n\tx{% endif %}",
    "a\n \u00a0{% if t %}b{% endif %}", "{% set x = 1 %}\n{% set y = 2 %}\n{{ x + y }}", "{% set x = 1 -%}\n\n  {{ x }}", "x {%- set y = 1 %}\ny", "{{- s -}}", "  {{- s }}  ",
    "{{+ 1 }}", "{{ 1 +}}", "a\n  {# c #}\n  b", "a\n  {# c #}b", "a {% if t %} {# c #} {% endif %} b", "{%if t%}x{%endif%}", "{%- if t -%}\n{%- if t -%}\nx{%- endif -%}{%- endif -%}",
    "line\n    {% for x in l %}\n    - {{ x }}\n    {% endfor %}\nend", "{% for x in l -%}\n  {{ x }}\n{%- endfor %}", "\x1c{%- if t %}x{% endif %}", "{% if t %}\r\nx{% endif %}\r\n",
    # if
    "{% if i == 7 %}a{% elif i == 8 %}b{% else %}c{% endif %}", "{% if i == 8 %}a{% elif i == 7 %}b{% else %}c{% endif %}", "{% if n %}a{% elif zero %}b{% else %}c{% endif %}",
    "{% if n %}a{% endif %}", "{% if t: %}a{% endif %}", "{% if t %}a{% else: %}b{% endif %}", "{% if %}a{% endif %}", "{% if t %}", "{% if t %}a{% else %}b", "{% endif %}", "{% else %}",
    "{% if t %}a{% endfor %}", "{% if 1, 0 %}a{% endif %}", "{% if t %}{% set x = 1 %}{% endif %}{{ x }}", "{% if fa %}{% set x = 1 %}{% endif %}{{ x is defined }}",
    "{% if fa %}{{ 1 | nofilter }}{% endif %}ok", "{% if t %}{{ 1 | nofilter }}{% endif %}", "{% if fa %}{% for x in l %}{{ x | nofilter }}{% endfor %}{% endif %}", "{% if fa %}{{ 1 is notest }}{% endif %}ok",
    "{% if 'nofilter' is filter %}{{ 1 | nofilter }}{% else %}no{% endif %}", "{{ 'x' if fa else 'y' }}", "{{ (1 | nofilter) if fa else 2 }}",
    # for
    "{% for x in l %}{{ x }},{% endfor %}", "{% for x in l %}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}", "{% for x in nothing %}a{% else %}empty{% endfor %}", "{% for x in l %}a{% else %}empty{% endfor %}",
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}", "{% for x in l %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{% endfor %}", "{% for x in l %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }} {% endfor %}", "{% for x in l %}{{ loop.nope }}{% endfor %}", "{% for x in l %}{{ loop.nope.x }}{% endfor %}", "{% for x in l %}{{ loop['index'] }}{% endfor %}", "{% for x in l %}{{ loop }}{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k, v in d | items %}{{ k }}={{ v }};{% endfor %}", "{% for k, v in d | dictsort %}{{ k }};{% endfor %}", "{% for k in d %}{{ k }};{% endfor %}",
    "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "{% for a, b in l %}{% endfor %}", "{% for a, b in [[1]] %}{% endfor %}", "{% for a, b in [[1, 2, 3]] %}{% endfor %}", "{% for a, b in ['xy'] %}{{ b }}{{ a }}{% endfor %}",
    "{% for x in s %}{{ x }}.{% endfor %}", "{% for x in i %}{% endfor %}", "{% for x in n %}{% endfor %}", "{% for x in missing %}a{% else %}none{% endfor %}", "{% for x in range(3) %}{{ x }}{% endfor %}",
    "{% for x in l if x > 1 %}{{ x }}{{ loop.index }}{{ loop.last }} {% endfor %}", "{% for x in l if x > 9 %}a{% else %}none{% endfor %}", "{% for x in l if x > 1 %}{{ loop.length }}{% endfor %}", "{% for m in messages if m.role != 'system' %}{{ m.content }}{{ loop.previtem.content if loop.previtem is defined }}{% endfor %}",
    "{% set ns = namespace(stop=false) %}{% for x in l if not ns.stop %}{{ x }}{% set ns.stop = true %}{% endfor %}", "{% for x in l if loop %}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}!", "{% for x in l %}{% for y in l %}{% if y == 1 %}{% break %}{% endif %}{{ x }}{{ y }} {% endfor %}{% endfor %}",
    "{% for x in l %}{% break %}{% else %}e{% endfor %}", "{% for x in l %}{% continue %}{% else %}e{% endfor %}", "{% break %}", "{% for x in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
    "{% for x in l %}{% for y in l %}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}", "{% for x in l %}{% set outer = loop %}{% for y in l %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}",
    "{% set x = 'out' %}{% for x in l %}{{ x }}{% endfor %}{{ x }}", "{% set y = 'out' %}{% for x in l %}{% set y = x %}{{ y }}{% endfor %}{{ y }}", "{% for x in l %}{% set y = x %}{% endfor %}{{ y is defined }}", "{% for x in l %}{{ y }}{% set y = x %}{% endfor %}",
    "{% set y = 0 %}{% for x in l %}{% set y = y + x %}{{ y }} {% endfor %}{{ y }}", "{% for x in l %}{% if loop.first %}{% set y = 'set' %}{% endif %}{{ y }};{% endfor %}", "{% set ns = namespace(n=0) %}{% for x in l %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}",
    "{% for x in [[1, [2]], [3]] recursive %}{{ x if x is not iterable else '[' ~ loop(x) ~ ']' }}{{ loop.depth }}{% endfor %}", "{% for x in l recursive %}{{ x }}{% endfor %}", "{% for x in l %}{{ loop(l) }}{% endfor %}",
    "{% for x in nested recursive %}{% if x is iterable and x is not string %}({{ loop(x) }}){% else %}{{ x }}{{ loop.index }}{% endif %}{% endfor %}", "{% for loop in l %}{% endfor %}", "{% for x in l %}{% set loop = 1 %}{% endfor %}",
    "{% for x in l: %}{{ x }}{% endfor %}", "{% for x l %}{% endfor %}", "{% for in l %}{% endfor %}", "{% for x in %}{% endfor %}", "{% for x in l %}", "{% for 1 in l %}{% endfor %}", "{% for x.y in l %}{% endfor %}", "{% for x in 1, 2 %}{{ x }}{% endfor %}", "{% for x in (1, 2) %}{{ x }}{% endfor %}",
    "{% for x, in [[1]] %}{{ x }}{% endfor %}", "{% for x in l if x > 1 else 2 %}{% endfor %}", "{% for x in l | reverse %}{{ x }}{{ loop.last }}{{ loop.length }}{% endfor %}", "{% for x in words | map('upper') %}{{ x }}{{ loop.last }}{% endfor %}", "{% for x in (l if t else nothing) %}{{ x }}{% endfor %}",
    "{% for x in d.a.b %}{{ x }}{% endfor %}", "{% for c in u %}{{ loop.index0 }}{{ c }}{% endfor %}", "{% for x in loop %}{% endfor %}",
    # set
    "{% set x = 5 %}{{ x }}", "{% set x, y = 1, 2 %}{{ x }}{{ y }}", "{% set (x, y) = l[:2] %}{{ x }}{{ y }}", "{% set x = 1, 2 %}{{ x }}", "{% set x, y = 1 %}", "{% set x = %}", "{% set = 1 %}", "{% set 1 = 1 %}", "{% set true = 1 %}", "{% set x.y = 1 %}", "{% set ns.x = 1 %}",
    "{% set ns = namespace() %}{% set ns.x = 1 %}{% set ns.y, z = 2, 3 %}{{ ns.x }}{{ ns.y }}{{ z }}{{ ns }}", "{% set d.x = 1 %}", "{% set x %}a{{ i }}b{% endset %}{{ x }}{{ x | length }}", "{% set x | upper %}abc{% endset %}{{ x }}", "{% set x | replace('a', 'b') | upper %}abc{% endset %}{{ x }}",
    "{% set x %}{% set y = 1 %}{{ y }}{% endset %}{{ x }}{{ y is defined }}", "{% set x %}\n  a\n{% endset %}[{{ x }}]", "{% set s = s ~ '!' %}{{ s }}", "{% set x = 1 if fa %}{{ x is defined }}", "{% set x = namespace(a=[]) %}{% set x.a = x.a + [1] %}{{ x.a }}", "{% set x = l %}{{ x is sameas l }}",
    "{% set range = 5 %}{{ range }}", "{% set d2 = dict(d, q=1) %}{{ d2 | tojson }}{{ d | length }}", "{% set x = html | safe %}{{ x + '<' }}",
    # macros
    "{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=4, a=5) }}", "{% macro m(a, b) %}{{ a }}-{{ b }}-{{ b is defined }}{% endmacro %}{{ m(1) }}", "{% macro m(a) %}{{ a.x }}{% endmacro %}{{ m() }}", "{% macro m() %}{% endmacro %}{{ m(1) }}",
    "{% macro m() %}{% endmacro %}{{ m(a=1) }}", "{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(1) }}", "{% macro m(a=1, b) %}{% endmacro %}", "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}", "{% macro m(a) %}{{ varargs }}{% endmacro %}{{ m(1, 2, 3) }}",
    "{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}", "{% set x = 1 %}{% macro m() %}{{ x }}{% set x = 2 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}", "{% macro m(x) %}{{ x }}{% endmacro %}{{ x is defined }}{{ m(3) }}{{ x is defined }}", "{{ m() }}{% macro m() %}{% endmacro %}",
    "{% macro fact(n) %}{{ 1 if n <= 1 else n * (fact(n - 1) | int) }}{% endmacro %}{{ fact(10) }}", "{% macro m(x) %}{% if x %}{{ x[0] }}{{ m(x[1:]) }}{% endif %}{% endmacro %}{{ m('abc') }}", "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}",
    "{% macro m() %}  x  {% endmacro %}[{{ m() }}][{{ m() | trim }}]", "{% macro m() -%}\n  x\n{%- endmacro %}[{{ m() }}]", "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}inner{% endcall %}", "{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b=3) m() %}{{ a }}{{ b }}{% endcall %}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}", "{% call s %}{% endcall %}", "{% call s.upper() %}{% endcall %}", "{{ m }}{% macro m() %}{% endmacro %}{{ m }}{{ m.name }}", "{% macro m(a, a2=none) %}{{ a2 is none }}{% endmacro %}{{ m(1) }}{{ m(1, 2) }}", "{% macro m(l) %}{% for x in l %}{{ loop.index }}{{ x }}{% endfor %}{% endmacro %}{{ m(l) }}",
    "{% for x in l %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}", "{% macro m() %}{{ loop is defined }}{% endmacro %}{% for x in l %}{{ m() }}{% endfor %}", "{% macro m() %}{{ undefined_thing.x }}{% endmacro %}\n{{ m() }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*[1]) }}{{ m(**{'a': 2}) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}",
    "{% macro m %}{% endmacro %}", "{% macro m( %}{% endmacro %}", "{% macro 1() %}{% endmacro %}", "{% macro m() %}", "{% macro m(a, b=2, c=3) %}{{ [a, b, c] }}{% endmacro %}{{ m(1, c=5) }}", "{% macro rec(x, depth=0) %}{% if x is mapping %}{% for k, v in x.items() %}{{ '  ' * depth }}{{ k }}:\n{{ rec(v, depth + 1) }}{% endfor %}{% else %}{{ '  ' * depth }}{{ x }}\n{% endif %}{% endmacro %}{{ rec(d.a) }}",
    # Macros and loops that outlive the body they are written in.
    "{% set ns = namespace() %}{% macro outer(a) %}{% macro inner() %}{{ a }}{% endmacro %}{% set ns.f = inner %}{% endmacro %}{{ outer(1) }}{{ outer(2) }}{{ ns.f() }}",
    "{% set ns = namespace() %}{% macro outer(a) %}{% macro inner() %}{{ a }}{% endmacro %}{% if a == 1 %}{% set ns.f = inner %}{% endif %}{% endmacro %}{{ outer(1) }}{{ outer(2) }}{{ ns.f() }}",
    "{% macro m(a) %}{% for x in l recursive %}{{ x }}{{ a }}{% if loop.first and loop.depth < 3 %}{{ loop(l) }}{% endif %}{% endfor %}{% endmacro %}{{ m(5) }}",
    "{% macro m(f) %}{{ caller(f) }}{% endmacro %}{% for x in l %}{% call(y) m(x) %}{{ x }}{{ y }}{% endcall %}{% endfor %}",
    "{% set ns = namespace(f=none) %}{% for x in l %}{% macro m() %}{{ x }}{% endmacro %}{% if ns.f %}{{ ns.f() }}{% endif %}{% set ns.f = m %}{% endfor %}",
    # what outlives the scope it was made in
    "{% set ns = namespace() %}{% macro m() %}{% set ns.c = caller %}{% endmacro %}{% macro outer(a) %}{% call m() %}{{ a }}{% endcall %}{% endmacro %}{{ outer(1) }}{{ ns.c() }}{{ outer(2) }}{{ ns.c() }}",
    "{% set ns = namespace() %}{% macro outer(a) %}{% for x in [1, 2, 3, 4] if x > a %}{% set ns.l = loop %}{% break %}{% endfor %}{% endmacro %}{{ outer(1) }}{% for y, z in ns.l %}{{ y }}{% endfor %}",
    "{% set ns = namespace() %}{% macro outer(a) %}{% for x in l recursive %}{{ x }}{{ a }}{% set ns.l = loop %}{% endfor %}{% endmacro %}{{ outer(1) }}{{ ns.l([9]) }}",
    # with, filter, call, print
    "{% with x = 1, y = 2 %}{{ x }}{{ y }}{% endwith %}{{ x is defined }}", "{% with %}{% set x = 1 %}{{ x }}{% endwith %}{{ x is defined }}", "{% set x = 5 %}{% with x = x + 1, y = x %}{{ x }}{{ y }}{% endwith %}{{ x }}", "{% with x = 1 y = 2 %}{% endwith %}", "{% filter upper %}abc{{ i }}{% endfilter %}", "{% filter replace('a', 'b') | upper %}abc{% endfilter %}",
    "{% filter nofilter %}{% endfilter %}", "{% print 1 %}", "{% print s, 1 %}", "{% unknown %}", "{% %}", "{% 1 %}", "{% if t %}{% unknown %}{% endif %}",
    # generation
    "a{% generation %}b{{ s }}{% endgeneration %}c", "{% for m in [1, 2] %}é{{ m }}{% generation %}世{{ m }}{% endgeneration %}\n{% endfor %}", "a{% generation %}{% endgeneration %}", "x\n  {%- generation -%}\n y \n{%- endgeneration -%}\n z", "a{% generation %}{% set x = 1 %}{% endgeneration %}{{ x is defined }}",
    "{% generation %}", "{% endgeneration %}", "a{% if t %}{% generation %}{{ u }}{% endgeneration %}{% endif %}{% generation %}z{% endgeneration %}",
    # A name that a body assigns is its own from the beginning: what stands inside does not see the variable of that name before.
    "{% for x in l %}{{ s }}{% endfor %}{% set s = 1 %}|{{ s }}", "{{ s }}{% for x in l %}{{ s }}{% endfor %}{% set s = 1 %}|{{ s }}", "{% for x in l %}{{ s }}{% endfor %}{% if l %}{% set s = 1 %}{% endif %}|{{ s }}",
    "{% for x in l %}{{ s }}{% endfor %}{% if l %}{% set s = 1 %}{% elif i %}{% set s = 2 %}{% else %}{% set s = 3 %}{% endif %}|{{ s }}", "{% set y %}{{ s }}{% endset %}{{ y }}{% set s %}z{% endset %}|{{ s }}",
    "{% for z in l %}{% filter upper %}{{ s }}{% endfilter %}{% set s = 1 %}|{{ s }}{% endfor %}", "{% macro m() %}{{ s }}{% endmacro %}{{ m() }}{% set s = 1 %}{{ m() }}", "{% macro m(a=s) %}{{ a }}{% endmacro %}{{ m() }}{% set s = 1 %}",
    "{% with q = 1 %}{{ s }}{% endwith %}{% macro s() %}{% endmacro %}{{ s.name }}", "{% with q = s %}{{ q }}{% endwith %}{% set s = 1 %}", "{% for x in l if s %}{{ x }}{% endfor %}{% set s = 1 %}|{{ s }}",
    "{% for z in l %}{{ s }}{% for x in l %}{{ s }}{% endfor %}{% set s = 1 %}{% endfor %}", "{% for z in l %}{% for x in l %}{{ s }}{% endfor %}{% set s = z %}{% for x in l %}{{ s }}{% endfor %}{% endfor %}{{ s }}",
    "{% macro m() %}{% for x in l %}{{ s }}{% endfor %}{% set s = 1 %}{% endmacro %}{{ m() }}", "{% macro m() %}{% for x in l %}{{ s }}{% endfor %}{% set s = 1 %}{% endmacro %}{{ s }}{{ m() }}", "{% macro m(s) %}{% for x in l %}{{ s }}{% endfor %}{% set s = 1 %}{% endmacro %}{{ m(5) }}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{{ s }}{% endcall %}{% set s = 1 %}", "a{% generation %}{{ s }}{% endgeneration %}{% set s = 1 %}", "{% for x in l %}{% set (s, y) = (1, 2) %}{{ s }}{% endfor %}{% for x in l %}{{ s }}{% endfor %}{% set s, y = 1, 2 %}",
    "{% for x in l %}{{ [s, {'a': s}] | tojson }}{{ 'q' ~ s[0:1] if not s is none and (s == 1 or -i) else s.upper() }}{% endfor %}{% set s = 1 %}", "{% for x in l %}{{ 'a' | replace('a', s) }}{% endfor %}{% set s = 1 %}", "{% for x in l %}{% set ns.q = 1 %}{% endfor %}{% set ns = namespace() %}",
    "{% for x in l %}{% else %}{{ s }}{% endfor %}{% for x in [] %}{% else %}[{{ s }}]{% endfor %}{% set s = 1 %}", "{% for x in l %}{{ range(*s) }}{% endfor %}{% set s = 1 %}", "{% for x in l %}{{ dict(**s) }}{% endfor %}{% set s = 1 %}", "{% set s = s %}{% for x in l %}{{ s }}{% endfor %}",
    "{% for x in l %}{{ loop.index }}{{ s.x if s }}{{ x > s }}{% endfor %}{% set s = 1 %}", "{% for x in l %}{% set y = s[x] %}{% endfor %}{% set s = 1 %}", "{% for x in l %}{{ s is defined }}{{ not s }}{{ l[s:] | length }}{% endfor %}{% set s = 1 %}",
    "{% set x, y = ('ab' | escape) %}{{ x }}{{ y }}", "{% set x, y = ('abc' | safe) %}",
    # Filters and tests of what is not their usual kind.
    "{{ 1.5 is even }}{{ 1.5 is odd }}{{ 3.0 is odd }}{{ true is odd }}{{ '%s' is even }}{{ -3 is odd }}", "{{ [1] is filter }}", "{{ {} is test }}", "{{ missing | abs }}", "{{ missing | round }}", "{{ missing | indent }}", "{{ [1] | indent }}",
    "{{ [1, 2] | truncate(5) }}{{ {'a': 1} | truncate(3) }}{{ missing | truncate }}", "{{ [1, 2] | truncate(1, leeway=0, end='') }}", "{{ 5 | truncate(5) }}", "{{ 'b,a' | sort(attribute='n') }}", "{{ [{'n': 2}, {}] | sort(attribute='n') }}", "{{ ['b', 'a'] | unique(attribute='n') | list }}",
    "{{ 10 ** 30 * 'a' }}", "{{ 'a' * 10 ** 30 }}", "{{ [1] * 10 ** 30 }}", "{{ 10 ** 30 * none }}", "{{ missing.__class__ }}|", "{{ missing.__foo__ }}",
    # Errors and their lines.
    "a\nb\n{{ missing.x }}", "a\n\n{% if t %}\n  {{ 1 + 'a' }}\n{% endif %}", "a\n{{ 1 | nofilter }}\n", "a\n{% if x\n", "line1\n{% set x = 1 %}\n{{ x.y.z }}", "{% macro m() %}\n\n{{ 1 / 0 }}\n{% endmacro %}\n\n{{ m() }}", "\n\n{{ raise_exception('no') }}", "\n{% for x in l %}\n{{ x.y.z }}\n{% endfor %}",
    "a\n{% raw %}\n{{ }}\n{% endraw %}\n{{ missing.x }}", "a\n{# c\n c #}\n{{ missing.x }}", "\n{{ 'a' ~\n 'b' }}\n{{ missing.x }}", "{% for x in l %}\n{% endif %}", "\n\n{{ @ }}", "\n\n{{ 'abc }}",
    # A whole template.
    """{%- set ns = namespace(last=-1) -%}
{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set ns.last = loop.index0 -%}{%- endif -%}{%- endfor -%}
{%- if messages[0].role == 'system' -%}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for m in messages %}
    {%- if m.role != 'system' %}
        {{- '<|im_start|>' + m.role + '\\n' }}
        {%- if m.role == 'assistant' %}{% generation %}{{ m.content + '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}
        {%- else %}{{ m.content + '<|im_end|>\\n' }}{% endif %}
    {%- endif %}
{%- endfor %}
{%- if ns.last >= 0 %}{{ '<|im_start|>assistant\\n' }}{% endif %}
""",
]
