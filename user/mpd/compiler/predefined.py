"""The functions and constants that every program has. Each function: what it takes, what it gives, what it is in C.

`takes` names the kind of each argument: int, real, string, file, number (int or real), discrete (ordered, not real),
variable (to be read into), array, type, pointer; a `?` behind one: it may be left out."""

from dataclasses import dataclass

from user.mpd.compiler.types import BOOL, FILE, INT, REAL, Type


@dataclass(frozen=True)
class Function:
    takes: tuple[str, ...]
    gives: Type | str | None = None     # a type, "same" as the first argument's, or nothing
    code: str = ""                      # of C; with a place behind where it ends in "!"
    more: bool = False                  # more arguments of the last kind


FUNCTIONS = {
    "write": Function((), None, more=True),
    "writes": Function((), None, more=True),
    "put": Function((), None, more=True),
    "read": Function((), INT, more=True),
    "printf": Function((), None, more=True),
    "sprintf": Function((), None, more=True),
    "scanf": Function((), INT, more=True),
    "sscanf": Function((), INT, more=True),
    "get": Function((), INT, more=True),
    "abs": Function(("number",), "same"),
    "min": Function(("number",), "numbers", more=True),
    "max": Function(("number",), "numbers", more=True),
    "sqrt": Function(("real",), REAL, "mpd_sqrt!"),
    "sin": Function(("real",), REAL, "sin"),
    "cos": Function(("real",), REAL, "cos"),
    "tan": Function(("real",), REAL, "tan"),
    "asin": Function(("real",), REAL, "asin"),
    "acos": Function(("real",), REAL, "acos"),
    "atan": Function(("real", "real?"), REAL, "atan"),
    "exp": Function(("real", "real?"), REAL, "exp"),
    "log": Function(("real", "real?"), REAL, "mpd_log!"),
    "ceil": Function(("real",), REAL, "ceil"),
    "floor": Function(("real",), REAL, "floor"),
    "round": Function(("real",), REAL, "mpd_round"),
    "random": Function(("real?", "real?"), REAL, "mpd_random"),
    "seed": Function(("real",), None, "mpd_seed"),
    "low": Function(("type",), "type"),
    "high": Function(("type",), "type"),
    "pred": Function(("discrete",), "same"),
    "succ": Function(("discrete",), "same"),
    "lb": Function(("array", "int?"), INT),
    "ub": Function(("array", "int?"), INT),
    "length": Function(("string",), INT),
    "maxlength": Function(("string",), INT),
    "age": Function((), INT, "mpd_age"),
    "nap": Function(("int",), None, "mpd_nap!"),
    "numargs": Function((), INT, "mpd_numargs"),
    "getarg": Function(("int", "variable"), INT),
    "open": Function(("string", "int"), FILE),
    "close": Function(("file",), None, "mpd_close!"),
    "flush": Function(("file",), None, "mpd_flush!"),
    "remove": Function(("string",), BOOL),
    "seek": Function(("file", "int", "int"), INT, "mpd_seek!"),
    "where": Function(("file",), INT, "mpd_where!"),
    "new": Function(("type",), "pointer"),
    "free": Function(("pointer",), None),
    "locate": Function(("int", "string"), None, "mpd_locate!"),
    "myresource": Function((), "resource"),
    "chars": Function(("basic",), "chars"),
    "myvm": Function((), "vm", "mpd_my_vm"),
    "mymachine": Function((), INT, "mpd_my_machine"),
}
# Whose evaluation changes nothing.
PURE = {"abs", "min", "max", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "ceil", "floor",
        "round", "low", "high", "pred", "succ", "lb", "ub", "length", "maxlength", "age", "numargs", "chars",
        "myresource", "myvm", "mymachine"}
# Their values in C; those of type int are known to the compiler.
CONSTANTS: dict[str, tuple[Type, str, int | None]] = {
    "stdin": (FILE, "stdin", None), "stdout": (FILE, "stdout", None), "stderr": (FILE, "stderr", None),
    "READ": (INT, "0", 0), "WRITE": (INT, "1", 1), "READWRITE": (INT, "2", 2), "EOF": (INT, "(-1)", -1),
    "ABSOLUTE": (INT, "0", 0), "RELATIVE": (INT, "1", 1), "EXTEND": (INT, "2", 2),
}
# What the original has and the compiler has not: told as such.
NOT_YET = {"setpriority": "priorities", "mypriority": "priorities"}
