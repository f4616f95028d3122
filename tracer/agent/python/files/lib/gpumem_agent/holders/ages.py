"""The age that a line of the program compares with before it takes something out, by the text of the program: a
number that stands there, or that a constant, an attribute or an argument has by its name."""

import re

from gpumem_agent.holders.texts import DEF, above, code, indent, line_of, program_files, search

# A condition that compares ages, and is none of a program's main loop; one on an element's deadline; one on something
# of the first element; and one that says what is too young to go.
AGES = re.compile(
    r"(?i)(?=.*[<>])(?=.*[-\[])(?=.*(?:\b|_)(?:now|time|monotonic|age|clock|expir\w*|stale|since|deadline|horizon"
    r"|seconds|at|created|cutoff|oldest|older|span|stamp)(?:\b|_))(?!\s*while\s+time\.\w+\(\))"
)
DUE = re.compile(r"\s*(?:if|while)\b(?=.*[<>])(?=.*(?<!self)\.(?:\w+_)?(?:deadline|expir\w*|due|until)\b)")
OLDEST = re.compile(r"\s*while\b.*\[0\](?:\[\w+\]|\.\w+)\s*[<>](?!.*\blen\()")  # "while x[0].at < limit"
YOUNG = re.compile(r"(?i)\s*if\b(?=.*[<>]).*(?:\b|_)(?:horizon|cutoff|oldest)\b")
PASSED = re.compile(r"(?i)(?:\b|_)(?:now|time|monotonic|perf_counter|clock)\b.*\s-\s")
WORD = re.compile(r"(?<![\w.])[a-z_]\w*(?![\w.(])")
INDEX = re.compile(r"\[[^\]]*\]")
# Numbers, constants, names and attributes that are multiplied or divided; behind a call's name comes a bracket.
ATOM = r"[\w.]+(?![\w.])\(?"
PRODUCT = re.compile(r"(?<![\w.*/])%s(?:[*/]%s)*(?![*/])" % (ATOM, ATOM))
FACTOR = re.compile(r"([*/])?(%s)" % ATOM)
POWER_OF_TEN = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d*)?[eE][-+]?\d{1,2}\b")
SIGN = re.compile(r"\s*([*/])\s*")
NUMBER = re.compile(r"\d[\d_]*(?:\.\d*)?$")
CONSTANT = re.compile(r"[A-Z][A-Z\d_]+$")
NAME = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)$")
PLAIN = re.compile(r"[\w\s.*/]+$")
MODULE = r"^%(name)s\s*(?::[^=]*)?=(?!=)(.*)"
# What gives a name a value: an assignment, an attribute's, or an argument's and a field's, whose default is one.
MADE = r"^\s*%(name)s\s*(?::[^=]*)?=(?!=)(.*)"
ATTRIBUTE = r"\.%(name)s\s*(?::[^=]*)?=(?!=)(.*)"
ARGUMENT = r"(?:[(,]\s*|^\s+)%(name)s\s*(?::[^=,()]*)?=(?!=)([^,()]+)"
PARAMETERS = r"\bdef\s+\w+\((.*,\s*)?%(name)s\b"
CALLED = r"(?<!class )(?<!def )\b%(name)s\(((?:[^()]|\([^()]*\))*)\)"
CALLS = re.compile(r"\([^()]*\)")
CONDITION = re.compile(r"\s*(?:if|while|for)\b")
ENDS = re.compile(r"\s*(?:break|continue|return)\b")  # what is not to go
NEAR = 3  # lines above one that takes something out
CLASS_NAME = re.compile(r"\s*class\s+(\w+)")
LONGEST = 1e12  # what is more is no age, also of nanoseconds
LONG = 600  # what is more is of milliseconds, or no age that a program lives through
MINUTE, ROUND = 60, 500  # whole minutes are the latter, as of a program's own clock, but for round numbers
STEPS = 3  # names that may lead from one to the other


def of(site):
    """The number with which the line of a site, or the condition around it, compares an age; None where there is
    none, or there are several."""
    file, lines, at = line_of(site)
    before = [code(line) for line in above(lines, at)]
    found = [c for c in conditions(lines, at) if compares(c) or _has_horizon(c, before)]
    if not found or len(found) > 1 and not AGES.match(code(lines[at])):
        return None
    numbers = _numbers(found[0], file, (), 0)
    if not numbers:
        compared = found[0].partition("<")[2] or found[0].partition(">")[2]
        numbers = _numbers(compared, file, before, STEPS)
    age = numbers.pop() if len(numbers) == 1 else None
    if not age or age >= LONGEST or age >= LONG and age % MINUTE == 0 and age % ROUND:
        return None
    return age


def compares(condition):
    """Whether a condition compares ages."""
    return any(form.match(condition) for form in (AGES, DUE, OLDEST, YOUNG))


def _has_horizon(condition, before):
    """Whether a condition compares with a name to which one of the lines before gives a time that has passed."""
    compared = condition.partition("<")[2] or condition.partition(">")[2]
    made = (re.compile(MADE % {"name": name}) for name in WORD.findall(compared))
    return any(found and PASSED.search(found.group(1)) for form in made for found in map(form.match, before))


def _numbers(text, file, before, steps):
    """The numbers in a text of a file, outside of brackets of an index, of which a product or a quotient is one;
    with those of names, by the lines before it, an attribute or an argument, over so many steps at most."""
    text = POWER_OF_TEN.sub(lambda found: "%.15f" % float(found.group()), INDEX.sub("", text.rstrip(" :")))
    products = PRODUCT.findall(SIGN.sub(r"\1", text))
    return {n for n in (_product(product, file, before, steps) for product in products) if n}


def _product(text, file, before, steps):
    """The number of a product; None where one of its factors is unknown."""
    product = 1.0
    for sign, factor in FACTOR.findall(text):
        number = _factor(factor, file, before, steps)
        if number is None or sign == "/" and not number:
            return None
        product = product / number if sign == "/" else product * number
    return product


def _factor(text, file, before, steps):
    """The number of a factor; None where nobody says it, or they do not agree."""
    if NUMBER.match(text):
        return float(text.replace("_", ""))
    name = NAME.match(text)
    if CONSTANT.match(text):
        values = [v for v in _values(file, MODULE, text) if PLAIN.match(v)]
    else:
        values = _given(name.group(1), file, before) if name and steps else ()
    found = {n for value in values for n in _numbers(value, file, (), max(steps - 1, 0))}
    return found.pop() if len(found) == 1 else None


def _given(name, file, before):
    """The texts of what gives a name its value: those of the first of the forms that has any."""
    made = [found.group(1) for line in before for found in [re.match(MADE % {"name": re.escape(name)}, line)] if found]
    made = made or [v for v in _values(file, ATTRIBUTE, name) if v.strip() != name]
    if made:
        return made
    files = dict.fromkeys((file, *program_files()))
    return [v for each in files for v in _values(each, ARGUMENT, name)] or _by_place(name, file, files)


def _by_place(name, file, files):
    """The texts that calls in some files have at the place of a parameter of a function of a file's."""
    parameters = re.compile(PARAMETERS % {"name": re.escape(name)})
    for site, line in search(file, parameters, name, texts=True)[:1]:
        _, lines, at = line_of(site)
        before = parameters.search(line).group(1) or ""
        place = before.count(",") - before.lstrip().startswith(("self", "cls"))
        heads = (CLASS_NAME if "__init__" in line else DEF).match
        called = next((head.group(1) for head in map(heads, reversed(lines[: at + 1])) if head), "")
        texts = [text for each in files for text in _values(each, CALLED, called)] if called else []
        calls = [CALLS.sub("()", text).split(",") for text in texts]
        return [arguments[place] for arguments in calls if len(arguments) > place and "=" not in arguments[place]]
    return []


def _values(file, form, name):
    pattern = re.compile(form % {"name": re.escape(name)})
    found = (pattern.search(line) for _, line in search(file, pattern, name, texts=True))
    return [hit.group(1) for hit in found if hit]


def conditions(lines, at):
    """The line of a site, the condition around it, and those before it that end the work where they hold; nothing of
    a file that is gone by now."""
    if not lines:
        return []
    depth, found, below = indent(lines[at]), [code(lines[at])], lines[at]
    for line in reversed(lines[max(0, at - NEAR) : at]):
        if not line.strip():
            continue
        is_around = indent(line) < depth and CONDITION.match(line) and not DEF.match(line)
        if is_around or indent(line) == depth and YOUNG.match(line) and ENDS.match(below):
            found.append(code(line))
        if indent(line) < depth:
            break
        below = line
    return found
