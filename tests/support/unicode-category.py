#!/usr/bin/env python3
"""Writes lib/schema/unicode_category.c: the general category of every code point, as
Python's copy of the Unicode Character Database has it."""
import unicodedata

NAMES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()

runs = []
for code in range(0x110000):
    category = NAMES.index(unicodedata.category(chr(code)))
    if not runs or runs[-1][1] != category:
        runs.append((code, category))

print(f"/* Written by tests/support/unicode-category.py, from Unicode {unicodedata.unidata_version}. */")
print('#include "schema/unicode_category.h"\n')
print("const uint32_t unicode_categories[] = {")
for i in range(0, len(runs), 8):
    print("\t" + " ".join(f"0x{code << 8 | category:x}," for code, category in runs[i:i + 8]))
print("};")
print("const size_t unicode_category_count = sizeof unicode_categories / sizeof *unicode_categories;")
