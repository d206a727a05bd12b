#!/usr/bin/env python3
"""Writes lib/base/characters.c: what a terminal makes of each code point, as the Unicode
Character Database has it (Debian: unicode-data; or the directory that is named)."""
import collections
import re
import sys

DIRECTORY = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"
LAST = 0x10FFFF

# The flags of lib/base/characters.h, in its order.
(HIDDEN, WIDE, NO_COLUMN, PICTOGRAPH, EMOJI_VARIES, IDEOGRAPH, VARIES, JOINS_NEXT,
 JOINS_BEFORE, MARK, VIRAMA) = (1 << bit for bit in range(11))


def rows(name):
    """(first, last, value) of each line of a file; of lines '@missing', too, before the others."""
    with open(f"{DIRECTORY}/{name}", encoding="utf-8") as file:
        lines = file.read().splitlines()
    missing = [line.removeprefix("# @missing:") for line in lines if line.startswith("# @missing:")]
    for line in missing + [line.partition("#")[0] for line in lines]:
        fields = [field.strip() for field in line.split(";")]
        codes = re.fullmatch(r"([0-9A-F]+)(?:\.\.([0-9A-F]+)| [0-9A-F ]+)?", fields[0])
        if codes:
            yield int(codes[1], 16), int(codes[2] or codes[1], 16), fields[1]


def codes_of(name, *values):
    """The code points that have one of these values, the last that is said of them."""
    value_of = {}
    for first, last, value in rows(name):
        for code in range(first, last + 1):
            value_of[code] = value
    return {code for code, value in value_of.items() if value in values}


def codes_with(name, prop):
    """The code points that have a property; a file may say several of each."""
    return {code for first, last, value in rows(name) if value == prop for code in range(first, last + 1)}


def version():
    with open(f"{DIRECTORY}/DerivedCoreProperties.txt", encoding="utf-8") as file:
        return re.search(r"-([0-9.]+)\.txt", file.readline())[1]


category = "extracted/DerivedGeneralCategory.txt"
flags = collections.Counter()


def flag(codes, bit):
    for code in codes:
        flags[code] |= bit


# Invisible, or obeyed in place of shown. Some format characters are visible: they stand before digits.
flag((codes_of(category, "Cc", "Cf", "Cs", "Zl", "Zp") |
      codes_with("DerivedCoreProperties.txt", "Default_Ignorable_Code_Point") |
      codes_with("PropList.txt", "Noncharacter_Code_Point")) -
     codes_with("PropList.txt", "Prepended_Concatenation_Mark"), HIDDEN)
# Those of other categories that show nothing, as their names and The Unicode Standard say: fillers, joiners,
# blanks. U+2800, a pattern of Braille without dots, is a space among the others.
flag({0x1107F,   # BRAHMI NUMBER JOINER
      0x11A47,   # ZANABAZAR SQUARE SUBJOINER
      0x11A99,   # SOYOMBO SUBJOINER
      0x11F42,   # KAWI CONJOINER
      0x13441,   # EGYPTIAN HIEROGLYPH FULL BLANK
      0x13442,   # EGYPTIAN HIEROGLYPH HALF BLANK
      0x16FE4,   # KHITAN SMALL SCRIPT FILLER
      0x1D159},  # MUSICAL SYMBOL NULL NOTEHEAD
     HIDDEN)
flag(codes_of("extracted/DerivedEastAsianWidth.txt", "W", "F", "Wide"), WIDE)
flag(codes_of(category, "Mn", "Me", "Cf") - codes_with("PropList.txt", "Prepended_Concatenation_Mark"), NO_COLUMN)
flag(codes_with("emoji/emoji-data.txt", "Extended_Pictographic"), PICTOGRAPH)
flag({first for first, _, _ in rows("emoji/emoji-variation-sequences.txt") if first > 0x7F}, EMOJI_VARIES)
flag(codes_with("PropList.txt", "Unified_Ideograph"), IDEOGRAPH)
flag({first for first, _, _ in rows("StandardizedVariants.txt")
      if first > 0x7F and not flags[first] & IDEOGRAPH}, VARIES)
flag(codes_of("extracted/DerivedJoiningType.txt", "D", "L"), JOINS_NEXT)
flag(codes_of("extracted/DerivedJoiningType.txt", "D", "R"), JOINS_BEFORE)
flag(codes_of("extracted/DerivedJoiningType.txt", "T"), MARK)
flag(codes_of("extracted/DerivedCombiningClass.txt", "9"), VIRAMA)

runs = []
for code in range(LAST + 1):
    if not runs or runs[-1][1] != flags[code]:
        runs.append((code, flags[code]))

print(f"/* Written by tests/support/unicode-characters.py, from Unicode {version()}. */")
print('#include "base/characters.h"\n')
print("const uint32_t character_runs[] = {")
for i in range(0, len(runs), 8):
    print("\t" + " ".join(f"0x{code << 11 | value:x}," for code, value in runs[i:i + 8]))
print("};")
print("const size_t character_run_count = sizeof character_runs / sizeof *character_runs;")
