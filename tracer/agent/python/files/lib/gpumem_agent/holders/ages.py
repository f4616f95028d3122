"""The age that a line of the program compares with before it takes something out, by the text of the program: a
number that stands there, or that a constant, an attribute or an argument has by its name."""

import re

from gpumem_agent.holders.texts import DEF, above, code, line_of, program_files, search

# A condition that compares ages, and is none of a program's main loop; or how many there are.
AGES = re.compile(
    r"(?=.*[<>])(?=.*[-\[])(?=.*(?:\b|_)(?:now|time|monotonic|age|clock|expir\w*|stale|since|deadline|horizon|seconds"
    r"|at|cutoff|oldest|older|span|stamp)\b)(?!\s*while\s+time\.\w+\(\))"
)
INDEX = re.compile(r"\[[^\]]*\]")
CONSTANT = re.compile(r"(?<![\w.])[A-Z][A-Z\d_]+\b")
NUMBER = r"(?<![\w.])\d[\d_]*(?:\.\d*)?(?![\w.])"
PRODUCT = re.compile(r"%s(?:\s*[*/]\s*%s)*" % (NUMBER, NUMBER))
PLAIN = re.compile(r"[\s\d_.*/]+$")
FACTOR = re.compile(r"([*/])?\s*([\d_.]+)")
WORD = re.compile(r"[A-Za-z_]\w*")
# What gives a name a value: an assignment, an attribute's, or an argument's and a field's, whose default is one.
MADE = r"^\s*%(name)s\s*(?::[^=]*)?=(?!=)(.*)"
ATTRIBUTE = r"\.%(name)s\s*(?::[^=]*)?=(?!=)(.*)"
ARGUMENT = r"(?:[(,]\s*|^\s+)%(name)s\s*(?::[^=,()]*)?=(?!=)([^,()]+)"
CONDITION = re.compile(r"\s*(?:if|while|for)\b")
NEAR = 3  # lines above one that takes something out
STEPS = 3  # names that may lead from one to the other


def of(site):
    """The number with which the line of a site, or the condition around it, compares an age; None where there is
    none, or there are several."""
    file, lines, at = line_of(site)
    found = [c for c in conditions(lines, at) if AGES.match(c)]
    if len(found) != 1:
        return None
    numbers = _numbers(file, found[0])
    if not numbers:
        compared = found[0].partition("<")[2] or found[0].partition(">")[2]
        numbers = _of_names(file, [code(line) for line in above(lines, at)], compared, STEPS)
    return numbers.pop() if len(numbers) == 1 else None


def _of_names(file, before, text, steps):
    """The numbers that the names in a text have: by the lines before it, by an attribute, or by an argument."""
    numbers = set()
    for name in dict.fromkeys(WORD.findall(INDEX.sub("", text))) if steps else ():
        words = {"name": re.escape(name)}
        made = [found.group(1) for line in before for found in [re.match(MADE % words, line)] if found]
        made = made or [v for v in _values(file, ATTRIBUTE % words, name) if v.strip() != name]
        made = made or [v for each in dict.fromkeys((file, *program_files()))
                        for v in _values(each, ARGUMENT % words, name)]
        for value in made:
            numbers |= _numbers(file, value) or _of_names(file, (), value, steps - 1)
    return numbers


def _values(file, form, name):
    pattern = re.compile(form)
    return [pattern.search(line).group(1) for _, line in search(file, pattern, name, texts=True)]


def _numbers(file, text):
    """The numbers in a text, outside of brackets of an index, with those that constants of a file have; a product
    or a quotient is one."""
    text = CONSTANT.sub(lambda found: _constant(file, found.group()), INDEX.sub("", text))
    return {n for n in map(_product, PRODUCT.findall(text)) if n}


def _constant(file, name):
    """The text of a constant's number; its name where it has none."""
    values = _values(file, r"^%s\s*(?::[^=]*)?=(?!=)(.*)" % name, "=")
    return values[0].strip() if len(values) == 1 and PLAIN.match(values[0]) else name


def _product(text):
    product = 1.0
    for sign, number in FACTOR.findall(text):
        number = float(number)
        if sign == "/" and not number:
            return None
        product = product / number if sign == "/" else product * number
    return product


def conditions(lines, at):
    """The line of a site, and the condition around it; nothing of a file that is gone by now."""
    if not lines:
        return []
    depth, conditions = _depth(lines[at]), [code(lines[at])]
    for line in reversed(lines[max(0, at - NEAR) : at]):
        if line.strip() and _depth(line) < depth:
            if CONDITION.match(line) and not DEF.match(line):
                conditions.append(code(line))
            break
    return conditions


def _depth(line):
    return len(line) - len(line.lstrip())
