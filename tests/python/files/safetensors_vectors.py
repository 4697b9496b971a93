"""Hand-made safetensors files, good and bad: vectors() has all of which the reference implementation's verdict is that of Plait, stricter() those that it
accepts although the format forbids them."""

import struct

BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16,
        "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64}
DATA = b"abcd"


def file_of(header, data=b"", length=None):
    header = header.encode("utf-8", "surrogatepass") if isinstance(header, str) else header
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def info(dtype='"F32"', shape="[1]", offsets="[0,4]", more=""):
    return f'{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}{more}}}'


def one(data=DATA, **fields):
    return file_of(f'{{"a":{info(**fields)}}}', data)


def vectors():
    """(name, bytes)"""
    yield from _lengths()
    yield from _json()
    yield from _fields()
    yield from _sizes()
    yield from _places()
    yield from _metadata()
    for dtype, bits in BITS.items():
        for count in (0, 1, 4, 8):
            yield f"{count} of {dtype}", one(bytes(count * bits // 8), dtype=f'"{dtype}"', shape=f"[{count}]", offsets=f"[0,{count * bits // 8}]")
        yield f"a byte less of {dtype}", one(bytes(bits - 1), dtype=f'"{dtype}"', shape="[8]", offsets=f"[0,{bits - 1}]")
        yield f"a byte more of {dtype}", one(bytes(bits + 1), dtype=f'"{dtype}"', shape="[8]", offsets=f"[0,{bits + 1}]")


def _lengths():
    yield "nothing", b""
    yield "seven bytes", bytes(7)
    yield "no header", bytes(8)
    yield "an empty header", file_of("{}")
    for length in (3, 100_000_000, 100_000_001, 2**31, 2**63 - 1, 2**63, 2**64 - 1):
        yield f"a header of {length} bytes", file_of("{}", length=length)
    yield "a header that ends early", file_of(f'{{"a":{info()}}}', DATA, length=20)
    whole = one()
    for size in range(0, len(whole), 5):
        yield f"the first {size} bytes", whole[:size]
    yield "a byte more", whole + b"x"
    yield "data, and no tensors", file_of("{}", b"x")


def _json():
    for name, header in (("spaces after it", "{}   "), ("other space after it", "{}\n\t\r "), ("a zero byte after it", b"{}\0"), ("text after it", "{}x"),
                         ("two objects", "{}{}"), ("a list", "[]"), ("a string", '""'), ("null", "null"), ("a number", "1"), ("a mark of byte order", "\ufeff{}"),
                         ("a comment", "{/**/}"), ("an open object", "{"), ("a comma", "{,}"), ("single quotes", "{'a':1}"), ("a name without a value", '{"a"}')):
        yield f"JSON: {name}", file_of(header)
    tensor = f'"a":{info()}'
    for name, header in (("a last comma", f"{{{tensor},}}"), ("a comma before", f"{{,{tensor}}}"), ("space everywhere", f"{{ {tensor} }}".replace(":", " :\n").replace(",", " ,\t")),
                         ("escaped names", '{"\\u0061":{"dt\\u0079pe":"F\\u00332","shape":[1],"data_offsets":[0,4]}}')):
        yield f"JSON: {name}", file_of(header, DATA)
    for name, text in (("a quote", '\\"'), ("a zero", "\\u0000"), ("none", ""), ("a pair of surrogates", "\\ud83d\\ude00"), ("a lone surrogate", "\\ud800"),
                       ("a lone second surrogate", "\\udc00"), ("a line feed", "\n"), ("a delete", "\x7f"), ("a non-character", "\uffff"), ("a smile", "😀"),
                       ("an unknown escape", "\\x"), ("an escaped slash", "\\/")):
        yield f"a name with {name}", file_of(f'{{"{text}":{info()}}}', DATA)
    for name, text in (("a byte", b"\xff"), ("an overlong slash", b"\xc0\xaf"), ("a surrogate", b"\xed\xa0\x80"), ("half a character", b"\xe2\x82")):
        yield f"a name with {name}, which is not UTF-8", file_of(b'{"' + text + b'":' + info().encode() + b"}", DATA)
    for depth in (2, 100, 126, 130, 10000):
        yield f"{depth} levels", one(more=f',"x":{"[" * (depth - 2)}{"]" * (depth - 2)}')


def _fields():
    for name, fields in (("of another case", '"f32"'), ("unknown", '"F128"'), ("a number", "17"), ("null", "null"), ("a list", '["F32"]'), ("two in an object", '{"F32":null,"F16":null}'),
                         ("empty", '""')):
        yield f"a dtype that is {name}", one(dtype=fields)
    for name, shape in (("a float", "[1.0]"), ("1e0", "[1e0]"), ("-0", "[-0]"), ("-1", "[-1]"), ("a string", '["1"]'), ("true", "[true]"), ("null", "[null]"), ("01", "[01]"),
                        ("2^64", "[0,18446744073709551616]"), ("1e400", "[1e400]"), ("a list", "[[1]]")):
        yield f"a size that is {name}", one(b"" if "0" in name else DATA, shape=shape, offsets="[0,0]" if "0" in name else "[0,4]")
    for name, shape in (("null", "null"), ("an object", "{}"), ("a number", "1"), ("a string", '"1"')):
        yield f"a shape that is {name}", one(shape=shape)
    for name, offsets in (("one number", "[4]"), ("three numbers", "[0,4,4]"), ("none", "[]"), ("an object", '{"0":0,"1":4}'), ("floats", "[0.0,4.0]"), ("strings", '["0","4"]'),
                          ("negative", "[-4,0]"), ("-0", "[-0,4]"), ("null", "null"), ("2^64", "[18446744073709551616,18446744073709551620]")):
        yield f"offsets that are {name}", one(offsets=offsets)
    for name in ("dtype", "shape", "data_offsets"):
        fields = {"dtype": '"F32"', "shape": "[1]", "data_offsets": "[0,4]"}
        del fields[name]
        yield f"no {name}", file_of('{"a":{' + ",".join(f'"{key}":{value}' for key, value in fields.items()) + "}}", DATA)
        yield f"{name} twice", one(more=f',"{name}":' + {"dtype": '"F32"', "shape": "[1]", "data_offsets": "[0,4]"}[name])
    for name, value in (("any", '{"y":[1.5,-1,null,1e3,true,"z"]}'), ("huge", "123456789012345678901234567890"), ("infinite", "1e999"), ("tiny", "1e-999"), ("NaN", "NaN"),
                        ("-0", "-0")):
        yield f"another field that is {name}", one(more=f',"x":{value}')
    yield "a field by its number", file_of('{"a":{"0":"F32","shape":[1],"data_offsets":[0,4]}}', DATA)
    for name, value in (("a number", "1"), ("null", "null"), ("a string", '"F32"'), ("an empty object", "{}"), ("a list of four", '["F32",[1],[0,4],1]'), ("an empty list", "[]")):
        yield f"a tensor that is {name}", file_of(f'{{"a":{value}}}')


def _sizes():
    yield "a scalar", one(shape="[]")
    yield "many axes", one(shape="[1,1,1,1,1,1,1,1,1,1]")
    yield "an empty tensor", one(b"", shape="[0,3]", offsets="[0,0]")
    for shape in ("[2305843009213693952]", "[576460752303423488]", "[4611686018427387904,4611686018427387904,0]", "[4611686018427387904,4]", "[9223372036854775807,9223372036854775807]",
                  "[0,4611686018427387904,4611686018427387904]", "[0,9223372036854775807]", "[4611686018427387904,0]"):
        yield f"sizes {shape}", one(b"", shape=shape, offsets="[0,0]")
    yield "an odd number of nibbles", one(b"", dtype='"F4"', shape="[1]", offsets="[0,0]")
    yield "nibbles that are half a byte too many", one(b"ab", dtype='"F4"', shape="[3]", offsets="[0,2]")


def _places():
    def two(first, second, data=DATA):
        fields = [info(dtype='"U8"', shape=f"[{end - begin}]" if end >= begin else "[0]", offsets=f"[{begin},{end}]") for begin, end in (first, second)]
        return file_of(f'{{"b":{fields[0]},"a":{fields[1]}}}', data)

    for first, second in (((0, 2), (2, 4)), ((2, 4), (0, 2)), ((0, 3), (2, 4)), ((0, 1), (2, 4)), ((0, 4), (0, 4)), ((0, 0), (0, 4)), ((4, 4), (0, 4)), ((2, 2), (0, 4)), ((0, 2), (2, 5)),
                          ((0, 2), (2, 3)), ((2, 0), (0, 4)), ((1, 3), (3, 4)), ((0, 4), (4, 4)), ((0, 4), (5, 5)), ((0, 0), (0, 0))):
        yield f"places {first} and {second}", two(first, second)
    for offsets in ("[4,0]", "[1,5]", "[0,3]", "[0,5]", "[0,0]", "[4,8]", "[18446744073709551611,18446744073709551615]", "[18446744073709551615,3]"):
        yield f"one tensor at {offsets}", one(offsets=offsets)
    yield "a bool of 2", one(dtype='"BOOL"', shape="[4]")


def _metadata():
    for name, value in (("empty", "{}"), ("null", "null"), ("one", '{"a":"b"}'), ("two", '{"z":"b","a":""}'), ("a list", "[]"), ("a string", '"a"'), ("a number in it", '{"a":1}'),
                        ("null in it", '{"a":null}'), ("an object in it", '{"a":{}}'), ("a name as of a tensor", '{"a":"b","":"","\\u0000":"\\u0000"}')):
        yield f"metadata: {name}", file_of(f'{{"__metadata__":{value},"a":{info()}}}', DATA)
        yield f"metadata after the tensor: {name}", file_of(f'{{"a":{info()},"__metadata__":{value}}}', DATA)
    yield "metadata appears twice", file_of('{"__metadata__":{},"__metadata__":{}}')
    yield "metadata with an escaped name", file_of('{"__meta\\u0064ata__":{"a":"b"}}')
    yield "metadata as a tensor", file_of(f'{{"__metadata__":{info()}}}', DATA)


def stricter():
    """(name, bytes, the words of Plait's error): the format says that the header begins with '{' and that no name appears twice, and its schema that a
    description is an object and a dtype a string. Sizes of 63 bits are Plait's own limit."""
    tensor = f'"a":{info()}'
    for name, header, data, words in (
            ("a space before the header", " {}", b"", "does not begin with '{'"), ("a tab before the header", "\t{}", b"", "does not begin with '{'"),
            ("a tensor twice", f"{{{tensor},{tensor}}}", DATA, "two members named \"a\""),
            ("a tensor twice, the last one right", f'{{"a":{info(shape="[9]")},{tensor}}}', DATA, "two members named \"a\""),
            ("metadata with a name twice", f'{{"__metadata__":{{"k":"1","k":"2"}},{tensor}}}', DATA, "two members named \"k\""),
            ("an unknown field twice", f'{{"a":{info(more=",%s" % chr(34) + "x" + chr(34) + ":1,"+ chr(34) + "x" + chr(34) + ":2")}}}', DATA, "two members named \"x\""),
            ("a description that is a list", '{"a":["F32",[1],[0,4]]}', DATA, "its description is a list"),
            ("a dtype that is an object", f"""{{"a":{info(dtype='{"F32":null}')}}}""", DATA, "dtype is an object"),
            ("a size of 2^63 beside one of 0", f'{{"a":{info(shape="[0,9223372036854775808]", offsets="[0,0]")}}}', b"", "a size of shape is an integer of more than 64 bits")):
        yield name, file_of(header, data), words
