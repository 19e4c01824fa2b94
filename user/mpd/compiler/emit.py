"""A checked tree to C. Names of the program get prefixes, so that none is C's or the run-time system's."""

from collections.abc import Callable, Sequence
from functools import partial
from zlib import crc32

from user.mpd.compiler import tree
from user.mpd.compiler.predefined import FUNCTIONS, PURE
from user.mpd.compiler.tree import Op, Position, Resource, Symbol
from user.mpd.compiler.types import (
    ANY,
    BOOL,
    CHAR,
    FILE,
    INT,
    NULL,
    REAL,
    Array,
    Basic,
    Capability,
    Dimension,
    Enum,
    Formal,
    Pointer,
    Record,
    ResourceCapability,
    Signature,
    String,
    Type,
)

BASIC = {INT: "mpd_int", BOOL: "bool", CHAR: "mpd_char", REAL: "mpd_real", FILE: "mpd_file", ANY: "void"}
INT_FUNCTIONS = {"/": "mpd_divide", "%": "mpd_remainder", "mod": "mpd_modulo", "**": "mpd_power"}
REAL_FUNCTIONS = {"/": "mpd_divide_real", "%": "mpd_remainder_real", "mod": "mpd_modulo_real", "**": "mpd_power_real"}
BOOL_OPERATORS = {"and": "&&", "&": "&&", "or": "||", "|": "||", "xor": "!="}
INT_OPERATORS = {"and": "&", "&": "&", "or": "|", "|": "|", "xor": "^"}
UNUSED = "__attribute__((unused)) "
FREED = "__attribute__((cleanup(mpd_free_array), unused)) "


def c_name(component: str, name: str) -> str:
    """Of what a component has, one name in C: an odd number of underscores comes but once before the second name."""
    return component.replace("_", "__") + "_" + name


def is_part(e: tree.Expression) -> bool:
    """Some characters of a string."""
    return isinstance(e, tree.Index) and isinstance(e.of.type, String) and e.bounds[0].kind != "one"


def c_string(text: str) -> str:
    return '"' + "".join(c if c.isalnum() and c.isascii() or c in " ./_:-," else f"\\{ord(c):03o}" for c in text) + '"'


# How the rounds of a loop are counted, after MPD_LOOPS of which it gives way: each one, or many ahead.
EACH, AHEAD = "each", "ahead"


def counting(body: tree.Statement) -> str:
    """AHEAD if nothing in a loop's body leaves the loop, and no other loop is in it."""
    def leaves(one: tree.Statement) -> bool:
        return isinstance(one, tree.While | tree.For | tree.Co) or isinstance(one, tree.Jump) and one.how != "next"
    return EACH if any(map(leaves, tree.statements(body))) else AHEAD


def calls(one: object) -> bool:
    """Whether evaluating it may change something."""
    match one:
        case tree.Call():
            pure = one.kind != "op" and not (one.kind == "predefined" and isinstance(one.function, tree.Use) and
                                             one.function.name.text not in PURE)
            return not pure or any(calls(each) for each in one.arguments)
        case tree.Assign() | tree.Create():
            return True
        case tree.Unary():
            return calls(one.operand)
        case tree.Binary():
            return calls(one.left) or calls(one.right)
        case tree.Index():
            return calls(one.of) or any(calls(side) for each in one.bounds for side in (each.first, each.last))
        case tree.Field() | tree.Dereference():
            return calls(one.of)
        case tree.Constructor():
            return any(calls(each) or calls(repeat) for repeat, each in one.elements)
    return False


class Emitter:
    def __init__(self, file: str, uses_vm: bool):
        self.file = file
        self.uses_vm = uses_vm
        self.wires: list[str] = []      # functions that bring values to other virtual machines
        self.wired: dict[str, str | None] = {}
        self.lines: list[str] = []
        self.depth = 0
        self.labels = 0
        self.context: list[tuple[str, int]] = []    # what is around: loop, in, co
        self.done = 0                   # the label at the end of the function
        self.gives_way = False          # it counts rounds of loops
        self.beginning = 0              # its line of self.lines
        self.block_name = "NULL"        # of the invocation that is served, for reply and forward
        self.arm_signatures: list[Signature] = []       # of the input statements around
        self.resource: Resource
        self.locals = False             # in a function's code, not at the level of a component
        self.temporaries = False        # the statement makes some
        self.strings: set[int] = set()
        self.arrays: dict[tuple[str, int], str] = {}
        self.blocks: dict[str, tuple[str, Signature]] = {}
        self.in_numbers: dict[int, str] = {}

    def put(self, line: str):
        self.lines.append("    " * self.depth + line if line else "")

    def open(self, line: str = ""):
        self.put(line + " {" if line else "{")
        self.depth += 1

    def close(self, more: str = ""):
        self.depth -= 1
        self.put("}" + more)

    def place(self, at: Position) -> str:
        return c_string(f"{at.file or self.file}:{at.line}:{at.column}")

    def fresh(self) -> int:
        self.labels += 1
        return self.labels

    # Types

    def c_type(self, of: Type | None) -> str:
        match of:
            case None:
                return "void"
            case Basic():
                return BASIC[of]
            case Enum():
                return "mpd_int"
            case String():
                if of.maximum is None:
                    return "struct mpd_text"
                self.strings.add(of.maximum)
                return f"struct mpd_string_{of.maximum}"
            case Record():
                return f"struct rec_{of.number}"
            case Pointer():
                return self.c_type(of.to) + " *"
            case Capability():
                return "struct mpd_cap"
            case ResourceCapability():
                return "struct mpd_rcap"
            case Signature():
                return "struct mpd_op *"
            case Array():
                key = (self.c_type(of.of), of.count)
                return self.arrays.setdefault(key, f"struct arr_{len(self.arrays)}")
        raise AssertionError(of)

    def zero(self, of: Type | None) -> str:
        if isinstance(of, Basic | Enum | Pointer):
            return "0"
        return f"({self.c_type(of)}){{0}}"

    def size(self, of: Array) -> str:
        return f"sizeof({self.c_type(of.of)})"

    # Values

    def value(self, e: tree.Expression) -> str:
        """As C has it: a text for a string, a descriptor for an array."""
        of = e.type
        if isinstance(of, String):
            return self.text(e)
        if isinstance(of, Array):
            return self.array(e)
        match e:
            case tree.Literal(value=bool()):
                return "true" if e.value else "false"
            case tree.Literal(value=str()):
                return str(ord(str(e.value)))
            case tree.Literal(value=float()):
                return repr(e.value)
            case tree.Literal():
                return str(e.value) if int(e.value) > -2**31 else "(-2147483647 - 1)"
            case tree.Null():
                return "NULL"
            case tree.Use() | tree.Index() | tree.Dereference():
                if isinstance(of, Signature):
                    return self.capability(e)
                return self.lvalue(e)
            case tree.Field():
                if isinstance(of, Signature):
                    return self.capability(e)
                return self.lvalue(e)
            case tree.Unary():
                return self.unary(e)
            case tree.Binary():
                return self.binary(e)
            case tree.Assign():
                return self.assignment(e)
            case tree.Call():
                return self.call(e)
            case tree.Create():
                return self.create(e)
        raise AssertionError(e)

    def lvalue(self, e: tree.Expression) -> str:
        match e:
            case tree.Use(symbol=Symbol() as symbol) | tree.Field(symbol=Symbol() as symbol):
                code = symbol.code
                if symbol.kind == "constant" and symbol.value is not None:
                    return f"(({self.c_type(symbol.type)}){symbol.value})" if symbol.value >= 0 else f"({symbol.value})"
                if (source := self.elsewhere(symbol)) is not None:
                    return self.converted(source, symbol.type)
                if symbol.by_reference and not isinstance(symbol.type, String | Array):
                    return f"(*{code})"
                return code
            case tree.Index():
                of = e.of.type
                if isinstance(of, String):
                    bound = e.bounds[0].last
                    assert bound
                    before, (i,) = self.in_order([(bound, self.value(bound))], calls(bound))
                    of_text = self.text(e.of)
                    if before and calls(e.of):
                        name = f"t_{self.fresh()}"
                        before, of_text = f"struct mpd_text {name} = {of_text}; " + before, name
                    at = f"mpd_char_in({of_text}, {i}, {self.place(e.at)})"
                    return f"(*({{ {before}{at}; }}))" if before else f"(*{at})"
                assert isinstance(of, Array)
                return self.element(self.address(e.of), self.c_type(of.of), e.bounds, e.at, calls(e.of))
            case tree.Field():
                of = e.of.type
                inner = self.lvalue(e.of) if self.is_variable(e.of) else self.value(e.of)
                return f"{inner}.f_{e.name.text}"
            case tree.Dereference():
                return f"(*({self.c_type(e.type)} *)mpd_to({self.value(e.of)}, {self.place(e.at)}))"
        return self.value(e)

    def elsewhere(self, symbol: Symbol) -> tree.Expression | None:
        """The value of a constant that another resource's specification has: only its instances have a variable."""
        return symbol.source if symbol.resource is not self.resource else None

    def element(self, array: str, kind: str, bounds: Sequence[tree.Bounds], at: Position, late: bool = False) -> str:
        """Of an array whose descriptor's address is `array`; `late`: that may change something."""
        sides = [one.last for one in bounds if one.last]
        before, given = self.in_order([(one, self.value(one)) for one in sides], late and any(map(calls, sides)))
        if before and late:
            name = f"t_{self.fresh()}"
            before, array = f"const struct mpd_array *{name} = {array}; " + before, name
        made = f"({kind} *)mpd_at{len(sides)}({array}, {', '.join(given)}, {self.place(at)})"
        return f"(*({{ {before}{made}; }}))" if before else f"(*{made})"

    def in_order(self, values: Sequence[tuple[tree.Expression, str]], always: bool = False) -> tuple[str, list[str]]:
        """Operands from left to right: C leaves the order open. What is to stand before, and the operands then."""
        if not always and not any(calls(e) for e, _ in values[1:]):
            return "", [value for _, value in values]
        names = [f"t_{self.fresh()}" for _ in values]
        return "".join(f"__auto_type {name} = {value}; " for name, (_, value) in zip(names, values, strict=True)), names

    def is_variable(self, e: tree.Expression) -> bool:
        match e:
            case tree.Use() | tree.Dereference():
                return not (isinstance(e.type, String) and e.type.maximum is None and not (
                    isinstance(e, tree.Use) and e.symbol and e.symbol.by_reference))
            case tree.Field():
                return e.symbol is not None or self.is_variable(e.of)
            case tree.Index():
                if isinstance(e.of.type, String):
                    return self.is_variable(e.of)
                return self.is_variable(e.of) or isinstance(e.of.type, Array)
        return False

    # Strings

    def text(self, e: tree.Expression) -> str:
        of = e.type
        if of == CHAR:
            self.temporaries = True
            return f"mpd_character({self.value(e)})"
        match e:
            case tree.Literal():
                return f"MPD_TEXT({c_string(str(e.value))})"
            case tree.Binary():
                self.temporaries = True
                before, (left, right) = self.texts(e.left, e.right)
                return f"({{ {before}mpd_concatenate({left}, {right}); }})" if before else \
                    f"mpd_concatenate({left}, {right})"
            case tree.Index() if isinstance(e.of.type, String):
                return self.part(e)
            case tree.Call() if e.kind == "conversion":
                return self.text_of(e.arguments[0])
            case tree.Assign():
                return self.assigned_text(e)
        symbol = e.symbol if isinstance(e, tree.Use | tree.Field) else None
        if symbol and (source := self.elsewhere(symbol)) is not None:
            return self.text(source)
        if self.is_variable(e):
            return f"mpd_text({self.reference(e)})"
        if isinstance(of, String) and of.maximum is None:       # a parameter by value
            return self.lvalue(e)
        self.temporaries = True
        made = self.call(e) if isinstance(e, tree.Call) else self.lvalue(e)
        maximum = of.maximum if isinstance(of, String) else 0
        name = f"t_{self.fresh()}"
        return (f"({{ {self.c_type(of)} *{name} = mpd_temporary(sizeof *{name}); *{name} = {made}; "
                f"mpd_text(MPD_REFERENCE(*{name}, {maximum})); }})")

    def settled(self, e: tree.Expression, later: bool) -> str:
        """The text of what is evaluated now, if something may change the variable `later`."""
        if not (later and self.is_variable(e)):
            return self.text(e)
        self.temporaries = True
        return f"mpd_concatenate({self.text(e)}, MPD_TEXT(\"\"))"

    def texts(self, left: tree.Expression, right: tree.Expression) -> tuple[str, tuple[str, str]]:
        """Two texts, and what stands before them so that the left one is evaluated first."""
        later = calls(right)
        first, second = self.settled(left, later), self.text(right)
        if not later:
            return "", (first, second)
        name = f"t_{self.fresh()}"
        return f"struct mpd_text {name} = {first}; ", (name, second)

    def assigned_text(self, e: tree.Assign) -> str:
        """Assigns to a string and gives its text; what is assigned is evaluated first, and all of it once."""
        number, place = self.fresh(), self.place(e.at)
        value = f"struct mpd_text v_{number} = {self.text(e.value)}; "
        if is_part(e.to):
            to = f"struct mpd_text r_{number} = {self.text(e.to)}; "
            now, assign, gives = f"r_{number}", "mpd_assign_part", f"r_{number}"
        else:
            to = f"struct mpd_reference r_{number} = {self.reference(e.to)}; "
            now, assign, gives = f"mpd_text(r_{number})", "mpd_assign_text", f"mpd_text(r_{number})"
        given = f"v_{number}"
        if e.operator:
            self.temporaries = True
            given = f"mpd_concatenate({now}, {given})"
        return f"({{ {value}{to}{assign}(r_{number}, {given}, {place}); {gives}; }})"

    def text_of(self, e: tree.Expression, later: bool = False) -> str:
        """What is written of a value; `later`: something may change it before that."""
        of = e.type
        if isinstance(of, String):
            return self.settled(e, later)
        if isinstance(of, Array):       # of characters
            self.temporaries = True
            return f"mpd_text_of_chars({self.address(e)})"
        self.temporaries = True
        if of == CHAR:
            return f"mpd_character({self.value(e)})"
        kind = {INT: "int", BOOL: "bool", REAL: "real"}.get(of, "") if isinstance(of, Basic) else ""
        if isinstance(of, Enum):
            kind = "int"
        return f"mpd_text_of_{kind or 'pointer'}({self.value(e)})"

    def reference(self, e: tree.Expression) -> str:
        if isinstance(e, tree.Use) and e.symbol and e.symbol.by_reference:
            return e.symbol.code
        assert isinstance(e.type, String)
        self.c_type(e.type)
        return f"MPD_REFERENCE({self.lvalue(e)}, {e.type.maximum})"

    def part(self, e: tree.Index) -> str:
        """Some characters of a string."""
        one, place = e.bounds[0], self.place(e.at)
        told = [side for side in (one.first, one.last) if side]
        before, given = self.in_order([(side, self.value(side)) for side in told], any(map(calls, told)))
        of_text = self.text(e.of)
        if before:
            name = f"t_{self.fresh()}"
            now = f"struct mpd_text {name} = {of_text}; "
            before, of_text = now + before if calls(e.of) else before + now, name
        if one.first is None:
            given.insert(0, "1")
        made = f"mpd_slice_text{'' if one.last else '_on'}({', '.join([of_text, *given])}, {place})"
        return f"({{ {before}{made}; }})" if before else made

    # Arrays

    def bounds_of(self, of: Array) -> str:
        """The bounds of a declaration, evaluated now."""
        sides = []
        for dim in of.dims:
            for side, number in ((dim.first, 0), (dim.last, 1)):
                sides.append(str(dim.known[number]) if dim.known else self.value(side) if side else "1")
        return f"(mpd_int[]){{{', '.join(sides)}}}"

    def array(self, e: tree.Expression) -> str:
        of = e.type
        assert isinstance(of, Array)
        match e:
            case tree.Constructor():
                return self.constructor(e, of.of)
            case tree.Use(symbol=Symbol() as symbol) | tree.Field(symbol=Symbol() as symbol):
                source = self.elsewhere(symbol)
                return self.of_elements(source, of.of) if source is not None else symbol.code
            case tree.Index():
                return self.slice(e)
            case tree.Field() if not self.is_variable(e):
                return self.held(of, self.lvalue(e))
            case tree.Field():
                return (f"mpd_inline_array(&{self.lvalue(e)}, {self.size(of)}, {len(of.dims)}, "
                        f"{self.bounds_of(of)})")
            case tree.Call(kind="predefined"):
                return f"mpd_chars({self.text_of(e.arguments[0])})"
            case tree.Call():
                return self.held(of, self.call(e))
            case tree.Assign():
                return self.assigned_array(e)
        raise AssertionError(e)

    def assigned_array(self, e: tree.Assign) -> str:
        of, number = e.to.type, self.fresh()
        assert isinstance(of, Array)
        return (f"({{ struct mpd_array v_{number} = {self.of_elements(e.value, of.of)}, r_{number} = "
                f"{self.array(e.to)}; mpd_assign_array(&r_{number}, &v_{number}, {self.size(of)}, {len(of.dims)}, "
                f"{self.place(e.at)}); r_{number}; }})")

    def held(self, of: Array, value: str) -> str:
        """Of an array that a function returns."""
        self.temporaries = True
        name = f"t_{self.fresh()}"
        return (f"({{ {self.c_type(of)} *{name} = mpd_temporary(sizeof *{name}); *{name} = {value}; "
                f"mpd_inline_array({name}, {self.size(of)}, {len(of.dims)}, {self.bounds_of(of)}); }})")

    def address(self, e: tree.Expression, element: Type | None = None) -> str:
        """Of an array's descriptor; a constructor's elements are of type `element`."""
        if isinstance(e, tree.Use | tree.Field) and e.symbol and self.elsewhere(e.symbol) is None:
            return f"&{e.symbol.code}"
        if isinstance(e, tree.Constructor) and element is not None:
            return f"(struct mpd_array[]){{{self.constructor(e, element)}}}"
        return f"(struct mpd_array[]){{{self.array(e)}}}"

    def slice(self, e: tree.Index) -> str:
        of = e.of.type
        assert isinstance(of, Array)
        sides: list[str] = []
        told = []
        for number in range(len(of.dims)):
            one = e.bounds[number] if number < len(e.bounds) else tree.Bounds(e.at, "all", None, None)
            if one.kind == "one" and one.last:
                sides += [self.value(one.last), "0"]
                told.append("MPD_ONE")
                continue
            sides += [self.value(side) if side else "0" for side in (one.first, one.last)]
            told.append(" | ".join(name for name, side in (("MPD_FIRST", one.first), ("MPD_LAST", one.last)) if side))
        return (f"mpd_slice({self.address(e.of)}, {len(of.dims)}, (mpd_int[]){{{', '.join(sides)}}}, "
                f"(int[]){{{', '.join(one or '0' for one in told)}}}, {self.place(e.at)})")

    def constructor(self, e: tree.Constructor, element: Type) -> str:
        self.temporaries = True
        number = self.fresh()
        parts = [f"struct mpd_constructor c_{number}; mpd_construct(&c_{number}, sizeof({self.c_type(element)}));"]
        inner = 0
        for repeat, one in e.elements:
            times = self.value(repeat) if repeat else "1"
            if isinstance(one.type, Array):
                inner = len(one.type.dims)
                parts.append(f"mpd_add_array(&c_{number}, {times}, {self.address(one, element)}, {inner}, "
                             f"{self.place(one.at)});")
            else:
                parts.append(f"mpd_add(&c_{number}, {times}, ({self.c_type(element)}[]){{"
                             f"{self.converted(one, element)}}});")
        return f"({{ {' '.join(parts)} mpd_constructed(&c_{number}, {inner}); }})"

    # Conversions to what a variable or a parameter is

    def converted(self, e: tree.Expression, to: Type | None) -> str:
        if isinstance(to, String) and to.maximum is not None:
            name = f"s_{self.fresh()}"
            return (f"({{ {self.c_type(to)} {name}; mpd_assign_text(MPD_REFERENCE({name}, {to.maximum}), "
                    f"{self.text(e)}, {self.place(e.at)}); {name}; }})")
        if isinstance(to, Capability):
            if isinstance(e, tree.Null):
                return "mpd_cap(&mpd_noop)" if e.is_noop else "(struct mpd_cap){0}"
            return self.capability(e)
        if isinstance(to, ResourceCapability) and e.type == NULL:
            return "(struct mpd_rcap){0}"
        if isinstance(to, Array):
            name = f"s_{self.fresh()}"
            inner = f"mpd_inline_array(&{name}, {self.size(to)}, {len(to.dims)}, {self.bounds_of(to)})"
            return (f"({{ {self.c_type(to)} {name}; mpd_assign_array((struct mpd_array[]){{{inner}}}, "
                    f"{self.address(e, to.of)}, {self.size(to)}, {len(to.dims)}, {self.place(e.at)}); {name}; }})")
        if to == REAL and e.type == INT:
            return f"(mpd_real){self.value(e)}"
        return self.value(e)

    def assign(self, to: tree.Expression, e: tree.Expression, at: Position) -> str:
        """An assignment, as an expression of no use."""
        of = to.type
        simple = isinstance(to, tree.Use) or not (calls(e) or calls(to))     # else the value first, then where it goes
        if isinstance(of, String | Array) and not simple:
            made = tree.Assign(at, to, "", e)
            return self.assigned_array(made) if isinstance(of, Array) else self.assigned_text(made)
        if isinstance(of, String):
            how, where = ("part", self.text(to)) if is_part(to) else ("text", self.reference(to))
            return f"mpd_assign_{how}({where}, {self.text(e)}, {self.place(at)})"
        if isinstance(of, Array):
            return (f"mpd_assign_array({self.address(to)}, {self.address(e, of.of)}, {self.size(of)}, "
                    f"{len(of.dims)}, {self.place(at)})")
        value = self.converted(e, of)
        if not simple:
            name = f"t_{self.fresh()}"
            return f"({{ {self.c_type(of)} {name} = {value}; {self.lvalue(to)} = {name}; }})"
        return f"{self.lvalue(to)} = {value}"

    def assignment(self, e: tree.Assign) -> str:
        if not e.operator:
            made = self.assign(e.to, e.value, e.at)
            if isinstance(e.to.type, String | Array):
                return made
            return f"({made})"
        of = e.to.type
        if isinstance(of, String):
            return self.assigned_text(e)
        number = self.fresh()
        kind = self.c_type(of)
        value = f"{self.c_type(e.value.type)} v_{number} = {self.value(e.value)}; "
        where = f"{kind} *p_{number} = &{self.lvalue(e.to)}; "
        made = self.operation(e.operator, of, e.value.type, f"*p_{number}", f"v_{number}", e.at)
        if e.after:
            return f"({{ {value}{where}{kind} o_{number} = *p_{number}; *p_{number} = ({kind})({made}); o_{number}; }})"
        return f"({{ {value}{where}*p_{number} = ({kind})({made}); }})"

    # Operators

    def unary(self, e: tree.Unary) -> str:
        if e.operator == "?":
            return self.pending(e)
        if e.operator == "@":
            return f"(&{self.lvalue(e.operand)})"
        operand = self.value(e.operand)
        if e.operator in ("not", "~", "!"):
            return f"(!{operand})" if e.type == BOOL else f"(~{operand})"
        return f"({e.operator} {operand})"

    def pending(self, e: tree.Unary) -> str:
        op = self.op_of(e.operand)
        if op and op.semaphore:
            return f"mpd_value(&{self.semaphore_of(e.operand)})"
        return f"mpd_count({self.capability(e.operand)}, {self.place(e.at)})"

    def operation(self, operator: str, left_type: Type | None, right_type: Type | None, left: str, right: str,
                  at: Position) -> str:
        if operator in BOOL_OPERATORS:
            return f"{left} {(BOOL_OPERATORS if left_type == BOOL else INT_OPERATORS)[operator]} {right}"
        if operator in ("<<", ">>"):
            return f"mpd_shift({left}, {right}, {'true' if operator == '<<' else 'false'})"
        if operator in INT_FUNCTIONS:
            if REAL not in (left_type, right_type):
                return f"{INT_FUNCTIONS[operator]}({left}, {right}, {self.place(at)})"
            if operator == "**" and right_type == INT:
                return f"mpd_power_int({left}, {right}, {self.place(at)})"
            return f"{REAL_FUNCTIONS[operator]}({left}, {right}, {self.place(at)})"
        if isinstance(left_type, Pointer) and isinstance(right_type, Pointer):
            return f"(mpd_int)({left} - {right})"
        return f"{left} {operator} {right}"

    def binary(self, e: tree.Binary) -> str:
        left_type, right_type = e.left.type, e.right.type
        if e.operator in ("==", "!=", "~=", "<", "<=", ">", ">="):
            operator = "!=" if e.operator == "~=" else e.operator
            if isinstance(left_type, String) or isinstance(right_type, String):
                before, (left, right) = self.texts(e.left, e.right)
                made = f"(mpd_compare({left}, {right}) {operator} 0)"
                return f"({{ {before}{made}; }})" if before else made
            caps = (Capability, Signature, ResourceCapability)
            if isinstance(left_type, caps) or isinstance(right_type, caps):
                of = left_type if isinstance(left_type, caps) else right_type
                if isinstance(of, Signature):
                    of = Capability(of)
                same = "rcap" if isinstance(of, ResourceCapability) else "cap"
                before, given = self.in_order([(one, self.converted(one, of)) for one in (e.left, e.right)])
                made = f"({'!' if operator == '!=' else ''}mpd_same_{same}({', '.join(given)}))"
                return f"({{ {before}{made}; }})" if before else made
        else:
            operator = e.operator
        lazy = e.operator in BOOL_OPERATORS and e.operator != "xor" and left_type == BOOL
        marked = self.temporaries
        left, right = self.value(e.left), self.value(e.right)
        before = ""
        if calls(e.right) and not lazy:     # C leaves the order open
            name = f"t_{self.fresh()}"
            before, left = f"__auto_type {name} = {left}; ", name
        self.temporaries = self.temporaries or marked
        made = (f"({left} {operator} {right})" if e.type == BOOL and e.operator not in BOOL_OPERATORS else
                f"({self.operation(e.operator, left_type, right_type, left, right, e.at)})")
        return f"({{ {before}{made}; }})" if before else made

    # Operations: which one is meant

    @staticmethod
    def named(e: tree.Expression) -> tree.Expression:
        while isinstance(e, tree.Index):
            e = e.of
        return e

    def op_of(self, e: tree.Expression) -> Op | None:
        named = self.named(e)
        symbol = getattr(named, "symbol", None)
        return symbol.op if symbol else None

    def subscripts(self, e: tree.Expression) -> list[tree.Bounds]:
        found: list[tree.Bounds] = []
        while isinstance(e, tree.Index):
            found = [*e.bounds, *found]
            e = e.of
        return found

    @staticmethod
    def owner(op: Op) -> str:
        return "self->" if op.resource.kind == "resource" else f"g_{op.resource.name.text}."

    def code_of(self, op: Op) -> str:
        """The variable in C that has it."""
        if op.local:
            return op.code
        return f"{self.owner(op)}{'s' if op.semaphore else 'o'}_{op.name.text}"

    def semaphore_of(self, e: tree.Expression) -> str:
        op = self.op_of(e)
        assert op
        if op.dims:
            return self.element(f"&{self.code_of(op)}", "struct mpd_sem", self.subscripts(e), e.at)
        return self.code_of(op)

    def capability(self, e: tree.Expression) -> str:
        """struct mpd_cap of an operation that is named, or of a value that is one."""
        if isinstance(e, tree.Null):
            return self.converted(e, Capability(Signature([], None)))
        named = self.named(e)
        op = self.op_of(e)
        if op:
            code = self.code_of(op)
            if op.dims:
                code = self.element(f"&{code}", "struct mpd_op *", self.subscripts(e), e.at)
            return f"mpd_cap({code})"
        if isinstance(named, tree.Field) and named.place >= 0:
            of = named.of.type
            assert isinstance(of, ResourceCapability)
            export = of.of.exports[named.place]
            if export.dims:
                array = f"mpd_export_array({self.value(named.of)}, {named.place}, {self.place(e.at)})"
                made = self.element(array, "struct mpd_op *", self.subscripts(e), e.at, calls(named.of))
                return f"mpd_cap({made})"
            return f"mpd_export({self.value(named.of)}, {named.place}, {self.place(e.at)})"
        if isinstance(e, tree.Call | tree.Assign | tree.Unary | tree.Binary):
            return self.value(e)
        return self.lvalue(e)

    # Values that go to other virtual machines

    def wire_value(self, of: Type | None) -> str | None:
        """The function in C that brings one there, or from there; None: its bytes do."""
        name = self.c_type(of)
        if name not in self.wired:
            self.wired[name] = None         # of a record that is reached through itself, which only pointers do
            self.wired[name] = self.made_wire(of, name)
        return self.wired[name]

    def made_wire(self, of: Type | None, name: str) -> str | None:
        lines: list[str] = []
        match of:
            case Capability():
                return "mpd_wire_cap"
            case ResourceCapability():
                return "mpd_wire_rcap"
            case Pointer() | Basic() if of == FILE or isinstance(of, Pointer):
                return "mpd_wire_never"
            case String():
                lines = [f"mpd_wire_string(w, value, {of.maximum});"]
            case Record() if not of.union:
                inner = [(field, self.wire_value(kind)) for field, kind in of.fields]
                if not any(function for _, function in inner):
                    return None
                lines = [f"{name} *v = value;", *(
                    f"{function}(w, &v->f_{field});" if function else
                    f"mpd_wire_bytes(w, &v->f_{field}, sizeof v->f_{field});" for field, function in inner)]
            case Array():
                function = self.wire_value(of.of)
                if function is None:
                    return None
                lines = [f"{name} *v = value;", f"for (int i = 0; i < {of.count}; i++)",
                         f"    {function}(w, &v->v[i]);"]
            case _:
                return None
        made = f"w_{len(self.wired)}"
        self.wires += [f"static {UNUSED}void {made}(struct mpd_wire *w, void *value)", "{",
                       *("    " + line for line in lines), "}"]
        return made

    def wire_member(self, member: str, of: Type | None) -> str:
        function = self.wire_value(of)
        return f"{function}(w, &{member});" if function else f"mpd_wire_bytes(w, &{member}, sizeof {member});"

    def wire(self, signature: Signature) -> str:
        """The function in C for an operation's invocations, by their block."""
        if not self.uses_vm:
            return "NULL"
        block = self.block_type(signature)
        made = "m" + block.removeprefix("struct b")
        if made in self.wired:
            return made
        self.wired[made] = made
        ins, outs = [], []
        for number, formal in enumerate(signature.formals):
            of, member = formal.type, f"b->a_{number}"
            if isinstance(of, Array):
                each = self.wire_value(of.of) or "NULL"
                call = f"mpd_wire_array(w, &{member}, {self.size(of)}, {len(of.dims)}, {each}, "
                given, back = call + "false);", call + "true);"
            elif isinstance(of, String) and of.maximum is None:
                given, back = f"mpd_wire_text(w, &{member});", ""
            else:
                given = back = self.wire_member(member, of)
            if formal.mode == "ref":
                ins.append(f"mpd_wire_never(w, &{member});")
            elif formal.mode == "res" and not isinstance(of, Array):
                ins.append(f"memset(&{member}, 0, sizeof {member});")
                outs.append(back)
            else:
                ins.append(given)
                if formal.mode != "val":
                    outs.append(back)
        if signature.result:
            ins += ["if (w->get)", "    memset(&b->result, 0, sizeof b->result);"]
            outs.append(self.wire_member("b->result", signature.result))
        # A sender's variables of `res` are left alone: what is not sent is not cleared.
        ins = [line if not line.startswith("memset") else f"if (w->get) {line}" for line in ins]
        self.wires += [f"static {UNUSED}void *{made}(struct mpd_wire *w, void *block, bool out)", "{",
                       f"    {block} *b = block ? block : mpd_block(sizeof *b, \"mpd\");", "    if (!block)",
                       "        w->kept = &b->base.kept;", "    if (!out) {", *("        " + line for line in ins),
                       "    } else {", *("        " + line for line in outs), "    }", "    return b;", "}"]
        return made

    # Blocks of invocations

    def formal_types(self, formal: Formal) -> list[tuple[str, str]]:
        """Type and name of the block's members: `a` is the argument, `to` where it is copied back to."""
        of = formal.type
        if isinstance(of, Array):
            members = [("struct mpd_array", "a")]
            return members + [("struct mpd_array", "to")] if formal.mode in ("var", "res") else members
        if isinstance(of, String):
            if formal.mode == "ref":
                return [("struct mpd_reference", "a")]
            members = [(self.c_type(of), "a")]
            return members + [("struct mpd_reference", "to")] if formal.mode in ("var", "res") else members
        kind = self.c_type(of)
        if formal.mode == "ref":
            return [(f"{kind} *", "a")]
        return [(kind, "a"), (f"{kind} *", "to")] if formal.mode in ("var", "res") else [(kind, "a")]

    def block_type(self, signature: Signature) -> str:
        members = [(of, f"{name}_{number}") for number, formal in enumerate(signature.formals)
                   for of, name in self.formal_types(formal)]
        if signature.result:
            members.append((self.c_type(signature.result), "result"))
        key = " ".join(f"{of} {name};" for of, name in members)
        if key not in self.blocks:
            self.blocks[key] = (f"struct b_{len(self.blocks)}", signature)
        return self.blocks[key][0]

    def fill(self, block: str, signature: Signature, arguments: Sequence[tree.Expression], at: Position):
        """Evaluates the arguments and makes a block of them, named `block`."""
        number = self.fresh()
        for i, (e, formal) in enumerate(zip(arguments, signature.formals, strict=True)):
            of = formal.type
            later = any(calls(one) for one in arguments[i + 1:])
            if isinstance(of, Array):
                self.put(f"struct mpd_array a_{number}_{i} = {self.elements(e, formal, later)};")
            elif formal.mode != "val":
                value = self.reference(e) if isinstance(of, String) else f"&{self.lvalue(e)}"
                self.put(f"__auto_type a_{number}_{i} = {value};")
            elif isinstance(of, String) and of.maximum is None:
                self.put(f"struct mpd_text a_{number}_{i} = {self.settled(e, later)};")
            else:
                self.put(f"{self.c_type(of)} a_{number}_{i} = {self.converted(e, of)};")
        kind = self.block_type(signature)
        self.put(f"{kind} *{block} = mpd_block(sizeof *{block}, {self.place(at)});")
        for i, formal in enumerate(signature.formals):
            of, given = formal.type, f"a_{number}_{i}"
            copied = formal.mode in ("var", "res")
            if isinstance(of, Array):
                if copied:
                    self.put(f"{block}->to_{i} = {given};")
                if formal.mode != "ref":
                    given = f"mpd_keep_array({block}, &{given}, {self.size(of)}, {len(of.dims)})"
                self.put(f"{block}->a_{i} = {given};")
                for j, dim in enumerate(of.dims):
                    low = dim.known[0] if dim.known else self.low(dim)
                    self.put(f"{block}->a_{i}.d[{j}].low = {low};")
            elif formal.mode == "ref":
                self.put(f"{block}->a_{i} = {given};")
            elif isinstance(of, String):
                if copied:
                    self.put(f"{block}->to_{i} = {given};")
                    self.put(f"{block}->a_{i}.length = 0;")
                    if formal.mode == "var":
                        self.put(f"mpd_assign_text(MPD_REFERENCE({block}->a_{i}, {of.maximum}), mpd_text({given}), "
                                 f"{self.place(at)});")
                elif of.maximum is None:
                    self.put(f"{block}->a_{i} = mpd_keep_text({block}, {given});")
                else:
                    self.put(f"{block}->a_{i} = {given};")
            elif copied:
                self.put(f"{block}->to_{i} = {given};")
                self.put(f"{block}->a_{i} = {'*' + given if formal.mode == 'var' else self.zero(of)};")
            else:
                self.put(f"{block}->a_{i} = {given};")
        if signature.result:
            self.put(f"{block}->result = {self.zero(signature.result)};")

    @staticmethod
    def low(dim: Dimension) -> int:
        first = dim.first
        if isinstance(first, tree.Literal) and not isinstance(first.value, str):
            return int(first.value)
        if isinstance(first, tree.Use) and first.symbol and first.symbol.value is not None:
            return first.symbol.value
        return 1

    def copy_back(self, block: str, signature: Signature, at: Position):
        for i, formal in enumerate(signature.formals):
            of = formal.type
            if formal.mode not in ("var", "res"):
                continue
            if isinstance(of, Array):
                self.put(f"mpd_assign_array(&{block}->to_{i}, &{block}->a_{i}, {self.size(of)}, {len(of.dims)}, "
                         f"{self.place(at)});")
            elif isinstance(of, String):
                self.put(f"mpd_assign_text({block}->to_{i}, mpd_text(MPD_REFERENCE({block}->a_{i}, {of.maximum})), "
                         f"{self.place(at)});")
            else:
                self.put(f"*{block}->to_{i} = {block}->a_{i};")

    def inside(self, then: Callable[[], None]) -> str:
        """What `then` puts, as one text for a statement expression."""
        lines, self.lines, depth, self.depth = self.lines, [], self.depth, 0
        then()
        made, self.lines, self.depth = " ".join(self.lines), lines, depth
        return made

    # Calls

    def direct(self, op: Op | None) -> bool:
        return bool(op and op.implemented == "proc" and not op.apart and not op.dims)

    def elements(self, e: tree.Expression, formal: Formal, later: bool) -> str:
        """An array's descriptor; a copy of one by value, if something may change it before the call."""
        of = formal.type
        assert isinstance(of, Array)
        if not later or formal.mode == "ref" or isinstance(e, tree.Constructor):
            return self.of_elements(e, of.of)
        self.temporaries = True
        return f"mpd_settled_array({self.address(e, of.of)}, {self.size(of)}, {len(of.dims)})"

    def actual(self, e: tree.Expression, formal: Formal, later: bool = False) -> str:
        of = formal.type
        if isinstance(of, Array):
            return self.elements(e, formal, later)
        if formal.mode != "val":
            return self.reference(e) if isinstance(of, String) else f"&{self.lvalue(e)}"
        if isinstance(of, String) and of.maximum is None and self.is_variable(e):
            self.temporaries = True     # the variable may change while the procedure runs
            return f"mpd_concatenate({self.text(e)}, MPD_TEXT(\"\"))"
        return self.converted(e, of)

    def of_elements(self, e: tree.Expression, element: Type) -> str:
        return self.constructor(e, element) if isinstance(e, tree.Constructor) else self.array(e)

    def call(self, e: tree.Expression) -> str:
        assert isinstance(e, tree.Call)
        if e.kind == "predefined":
            return self.predefined(e)
        if e.kind == "conversion":
            return self.conversion(e)
        if e.kind == "record":
            return self.record(e)
        op, signature = e.op, e.signature
        assert signature
        if op and op.implemented == "external":
            return self.external_call(e, op, signature)
        if op and self.direct(op):
            values = [self.actual(argument, formal, any(map(calls, e.arguments[i + 1:])))
                      for i, (argument, formal) in enumerate(zip(e.arguments, signature.formals, strict=True))]
            before, given = self.in_order(list(zip(e.arguments, values, strict=True)))
            owner = "self" if op.resource.kind == "resource" else f"&g_{op.resource.name.text}"
            made = f"{self.function(op)}({', '.join([owner, *given])})"
            return f"({{ {before}{made}; }})" if before else made
        number = self.fresh()

        def invocation():
            self.fill(f"b_c{number}", signature, e.arguments, e.at)
            self.put(f"mpd_call(b_c{number}, {self.capability(e.function)}, {self.place(e.at)});")
            self.copy_back(f"b_c{number}", signature, e.at)
            if signature.result:
                self.put(f"{self.c_type(signature.result)} r_{number} = b_c{number}->result;")
            self.put(f"mpd_drop(b_c{number});")
            if signature.result:
                self.put(f"r_{number};")
        return f"({{ {self.inside(invocation)} }})"

    def external_call(self, e: tree.Call, op: Op, signature: Signature) -> str:
        values = []
        for argument, formal in zip(e.arguments, signature.formals, strict=True):
            if isinstance(formal.type, String):
                self.temporaries = True
                values.append(f"mpd_c_string({self.text(argument)})" if formal.mode == "val" else
                              f"{self.reference(argument)}.string->data")
            elif isinstance(formal.type, Array):
                values.append(f"(void *)({self.of_elements(argument, formal.type.of)}).data")
            else:
                values.append(self.actual(argument, formal))
        before, given = self.in_order(list(zip(e.arguments, values, strict=True)))
        made = f"{op.code}({', '.join(given)})"
        return f"({{ {before}{made}; }})" if before else made

    @staticmethod
    def function(op: Op) -> str:
        return f"p_{c_name(op.resource.name.text, op.name.text)}"

    def record(self, e: tree.Call) -> str:
        of = e.type
        assert isinstance(of, Record)
        before, given = self.in_order([(argument, self.converted(argument, kind))
                                       for argument, (_, kind) in zip(e.arguments, of.fields, strict=False)])
        parts = [f".f_{name} = {value}" for value, (name, _) in zip(given, of.fields, strict=False)]
        made = f"({self.c_type(of)}){{{', '.join(parts)}}}"
        return f"({{ {before}{made}; }})" if before else made

    def conversion(self, e: tree.Call) -> str:
        one = e.arguments[0]
        to, of = e.type, one.type
        place = self.place(e.at)
        if isinstance(of, String):
            self.temporaries = True
            kind = {BOOL: "bool", REAL: "real"}.get(to, "int") if isinstance(to, Basic) else "int"
            if to == CHAR:
                return f"mpd_char_at({self.text(one)}, 1, {place})"
            return f"mpd_{kind}_of_text({self.text(one)}, {place})"
        value = self.value(one)
        if to == INT:
            return f"mpd_int_of_real({value}, {place})" if of == REAL else f"((mpd_int){value})"
        if to == CHAR:
            return f"mpd_char_of_int({value}, {place})" if of != CHAR else value
        if to == BOOL:
            return f"({value} != 0)"
        if isinstance(to, Enum):
            return f"mpd_enum_of_int({value}, {len(to.literals) - 1}, {place})"
        return f"(({self.c_type(to)}){value})"

    def predefined(self, e: tree.Call) -> str:
        assert isinstance(e.function, tree.Use)
        name = e.function.name.text
        arguments, place = e.arguments, self.place(e.at)
        if name in ("write", "writes", "put"):
            return self.write(e, name)
        if name == "myresource":
            return "mpd_rcap(&self->base)"
        if name == "read":
            return self.read(e)
        if name in ("printf", "sprintf"):
            return self.printf(e, name == "sprintf")
        if name in ("scanf", "sscanf"):
            return self.scanf(e, name == "sscanf")
        if name == "get":
            return self.get(e)
        if name in ("low", "high"):
            return self.limit(e.type, name)
        if name in ("pred", "succ"):
            return f"(({self.c_type(e.type)})({self.value(arguments[0])} {'-' if name == 'pred' else '+'} 1))"
        if name in ("lb", "ub"):
            of = arguments[0].type
            assert isinstance(of, Array)
            dim = self.value(arguments[1]) if arguments[1:] else "1"
            code = "mpd_low" if name == "lb" else "mpd_high"
            return f"{code}({self.address(arguments[0])}, {len(of.dims)}, {dim}, {place})"
        if name == "length":
            return f"({self.text(arguments[0])}).length"
        if name == "maxlength":
            variable = self.is_variable(arguments[0]) and not is_part(arguments[0])
            return f"({self.reference(arguments[0])}).maximum" if variable else \
                f"({self.text(arguments[0])}).length"
        if name == "abs":
            kind, number = self.c_type(e.type), self.fresh()
            return f"({{ {kind} a_{number} = {self.value(arguments[0])}; a_{number} < 0 ? -a_{number} : a_{number}; }})"
        if name in ("min", "max"):
            kind, number = self.c_type(e.type), self.fresh()
            made = [f"{kind} m_{number} = {self.value(arguments[0])};"]
            for one in arguments[1:]:
                made.append(f"{{ {kind} n_{number} = {self.value(one)}; if (n_{number} {'<' if name == 'min' else '>'} "
                            f"m_{number}) m_{number} = n_{number}; }}")
            return f"({{ {' '.join(made)} m_{number}; }})"
        if name == "getarg":
            return self.getarg(e)
        if name == "open":
            self.temporaries = True
            before, values = self.in_order([(arguments[0], self.settled(arguments[0], calls(arguments[1]))),
                                            (arguments[1], self.value(arguments[1]))])
            return f"({{ {before}mpd_open({', '.join(values)}); }})"
        if name == "remove":
            self.temporaries = True
            return f"mpd_remove({self.text(arguments[0])})"
        if name == "new":
            assert isinstance(e.type, Pointer)
            return f"(({self.c_type(e.type)})mpd_new(sizeof({self.c_type(e.type.to)}), {place}))"
        if name == "free":
            return f"free({self.value(arguments[0])})"
        code = FUNCTIONS[name].code
        before, values = self.in_order([(one, self.value(one)) for one in arguments])
        if name == "random":
            low, high = {0: ("0", "1"), 1: ("0", *values)}.get(len(values), (values or ["0", "1"])[:2])
            call = f"mpd_random({low}, {high})"
        elif name == "atan" and values[1:]:
            call = f"atan2({', '.join(values)})"
        elif name == "exp" and values[1:]:
            call = f"mpd_power_real({values[1]}, {values[0]}, {place})"
        elif name == "log" and values[1:]:
            call = f"mpd_divide_real(mpd_log({values[0]}, {place}), mpd_log({values[1]}, {place}), {place})"
        else:
            call = f"{code.rstrip('!')}({', '.join(values + [place] if code.endswith('!') else values)})"
        return f"({{ {before}{call}; }})" if before else call

    @staticmethod
    def limit(of: Type | None, name: str) -> str:
        low = name == "low"
        if isinstance(of, Enum):
            return "0" if low else str(len(of.literals) - 1)
        return {INT: "(-2147483647 - 1)" if low else "2147483647", CHAR: "0" if low else "255",
                BOOL: "false" if low else "true", REAL: "-1.7976931348623157e308" if low else
                "1.7976931348623157e308"}[of]       # type: ignore[index]

    def write(self, e: tree.Call, name: str) -> str:
        arguments, to, place = e.arguments, "stdout", self.place(e.at)
        number = self.fresh()
        parts = []
        if arguments and arguments[0].type == FILE:
            parts.append(f"mpd_file f_{number} = {self.value(arguments[0])};")
            to, arguments = f"f_{number}", arguments[1:]
        for i, one in enumerate(arguments):
            later = any(calls(each) for each in arguments[i + 1:])
            parts.append(f"struct mpd_text w_{number}_{i} = {self.text_of(one, later)};")
        parts.append(f"mpd_hold({to}, {place});")
        for i in range(len(arguments)):
            if i and name == "write":
                parts.append(f"mpd_write_text({to}, MPD_TEXT(\" \"), {place});")
            parts.append(f"mpd_write_text({to}, w_{number}_{i}, {place});")
        if name == "write":
            parts.append(f"mpd_write_text({to}, MPD_TEXT(\"\\n\"), {place});")
        parts.append(f"mpd_release_file({to});")
        return f"({{ {' '.join(parts)} }})"

    def read(self, e: tree.Call) -> str:
        arguments, from_, place = e.arguments, "stdin", self.place(e.at)
        number = self.fresh()
        self.temporaries = True
        parts = [f"mpd_int n_{number} = 0;"]
        if arguments and arguments[0].type == FILE:
            parts.append(f"mpd_file f_{number} = {self.value(arguments[0])};")
            from_, arguments = f"f_{number}", arguments[1:]
        body = []
        for one in arguments:
            of = one.type
            kind = "string" if isinstance(of, String) else str(of)
            where = self.reference(one) if isinstance(of, String) else f"&{self.lvalue(one)}"
            body.append(f"{{ mpd_int r_{number} = mpd_read_{kind}({from_}, {where}, {place}); "
                        f"if (r_{number} < 0 && !n_{number}) n_{number} = -1; if (r_{number} <= 0) break; "
                        f"n_{number}++; }}")
        return f"({{ {' '.join(parts)} do {{ {' '.join(body)} }} while (0); n_{number}; }})"

    def printf(self, e: tree.Call, to_string: bool) -> str:
        """All is evaluated before anything is written."""
        number, place = self.fresh(), self.place(e.at)
        self.temporaries = True
        parts: list[str] = []
        rest = list(e.arguments)
        to = "stdout"
        if to_string:
            parts.append(f"struct mpd_reference to_{number} = {self.reference(rest.pop(0))};")
        elif rest[0].type == FILE:
            to = f"to_{number}"
            parts.append(f"mpd_file {to} = {self.value(rest.pop(0))};")
        writes = []
        for i, one in enumerate(rest):
            of = one.type
            later = any(map(calls, rest[i + 1:]))
            name = f"w_{number}_{i}"
            if isinstance(of, String | Array):
                parts.append(f"struct mpd_text {name} = {self.text_of(one, later)};")
                kind = "text"
            else:
                kind = {REAL: "real", BOOL: "bool"}.get(of, "int") if isinstance(of, Basic) else "int"
                parts.append(f"__auto_type {name} = {self.value(one)};")
            if i:
                writes.append(f"mpd_format_{kind}(&f_{number}, {name}, {place});")
        begin = f"mpd_format_string(w_{number}_0)" if to_string else f"mpd_format({to}, w_{number}_0, {place})"
        end = f"mpd_format_end(&f_{number}, {place})"
        parts.append(f"struct mpd_format f_{number} = {begin};")
        if to_string:
            return f"({{ {' '.join(parts + writes)} mpd_assign_text(to_{number}, {end}, {place}); }})"
        return f"({{ {' '.join(parts)} mpd_hold({to}, {place}); {' '.join(writes)} {end}; mpd_release_file({to}); }})"

    def scanf(self, e: tree.Call, of_string: bool) -> str:
        number, place = self.fresh(), self.place(e.at)
        self.temporaries = True
        parts: list[str] = []
        rest = list(e.arguments)
        begin = f"mpd_scan(stdin, w_{number}, {place})"
        if of_string:
            parts.append(f"struct mpd_text from_{number} = {self.settled(rest.pop(0), True)};")
            begin = f"mpd_scan_text(from_{number}, w_{number})"
        elif rest[0].type == FILE:
            parts.append(f"mpd_file from_{number} = {self.value(rest.pop(0))};")
            begin = f"mpd_scan(from_{number}, w_{number}, {place})"
        parts += [f"struct mpd_text w_{number} = {self.settled(rest.pop(0), True)};",
                  f"struct mpd_scan c_{number} = {begin};"]
        for one in rest:
            of = one.type
            kind, where = ("string", self.reference(one)) if isinstance(of, String) else (str(of),
                                                                                          f"&{self.lvalue(one)}")
            parts.append(f"mpd_scan_{kind}(&c_{number}, {where}, {place});")
        return f"({{ {' '.join(parts)} mpd_scan_end(&c_{number}, {place}); }})"

    def get(self, e: tree.Call) -> str:
        number, place = self.fresh(), self.place(e.at)
        *files, to = e.arguments
        file = self.value(files[0]) if files else "stdin"
        kind, where = ("string", self.reference(to)) if isinstance(to.type, String) else ("chars", self.address(to))
        return f"({{ mpd_file f_{number} = {file}; mpd_get_{kind}(f_{number}, {where}, {place}); }})"

    def getarg(self, e: tree.Call) -> str:
        number, place = self.fresh(), self.place(e.at)
        to = e.arguments[1]
        of = to.type
        text = f"t_{number}"
        if isinstance(of, String):
            stored = f"mpd_assign_text({self.reference(to)}, {text}, {place})"
        elif of == CHAR:
            stored = f"{self.lvalue(to)} = mpd_char_at({text}, 1, {place})"
        else:
            self.temporaries = True
            stored = f"{self.lvalue(to)} = mpd_{of}_of_text({text}, {place})"
        return (f"({{ struct mpd_text {text}; "
                f"mpd_int r_{number} = mpd_getarg_text({self.value(e.arguments[0])}, &{text}); "
                f"if (r_{number} > 0) {stored}; r_{number}; }})")

    def create(self, e: tree.Create) -> str:
        assert e.resource
        resource, number = e.resource, self.fresh()
        name = resource.name.text
        if name == "vm" and e.on is not None:
            where = self.text(e.on) if isinstance(e.on.type, String) else \
                f"mpd_place_of_node({self.value(e.on)}, {self.place(e.at)})"
            return f"mpd_create_vm({where}, {self.place(e.at)})"
        signature = self.creation(resource)
        on = e.on

        def creation_there():
            assert on is not None
            self.put(f"struct mpd_rcap on_{number} = {self.value(on)};")
            self.fill(f"b_c{number}", signature, e.arguments, e.at)
            self.put(f"mpd_create_on(b_c{number}, &q_{name}, on_{number}, {self.place(e.at)});")
        if on is not None:
            return f"({{ {self.inside(creation_there)} }})"

        def creation():
            self.fill(f"b_c{number}", signature, e.arguments, e.at)
            self.put(f"struct mpd_instance *i_{number} = n_{name}();")
            self.put(f"b_c{number}->result = mpd_rcap(i_{number});")
            self.put(f"mpd_create(b_c{number}, t_{name}, {'true' if resource.replies else 'false'}, i_{number}, "
                     f"{self.place(e.at)});")
            self.put(f"mpd_rcap(i_{number});")
        return f"({{ {self.inside(creation)} }})"

    @staticmethod
    def creation(resource: Resource) -> Signature:
        return Signature([Formal(one.name, "val", one.type) for one in resource.parameter_symbols],
                         ResourceCapability(resource))

    # Statements

    def with_temporaries(self, make: Callable[[], str]) -> str:
        """An expression whose temporaries go at its end."""
        before, self.temporaries = self.temporaries, False
        made = make()
        if self.temporaries:
            number = self.fresh()
            made = (f"({{ void *m_{number} = mpd_mark(); __auto_type c_{number} = {made}; mpd_release(m_{number}); "
                    f"c_{number}; }})")
        self.temporaries = before
        return made

    def condition(self, e: tree.Expression) -> str:
        return self.with_temporaries(lambda: self.value(e))

    def simple(self, then: Callable[[], None]):
        """A statement whose temporaries go at its end."""
        before, self.temporaries = self.temporaries, False
        lines, self.lines = self.lines, []
        self.depth += 1
        then()
        self.depth -= 1
        made, self.lines = self.lines, lines
        if self.temporaries:
            number = self.fresh()
            self.open()
            self.put(f"void *m_{number} = mpd_mark();")
            self.lines += made
            self.put(f"mpd_release(m_{number});")
            self.close()
        else:
            self.lines += [line.removeprefix("    ") for line in made]
        self.temporaries = before

    def statement(self, one: tree.Statement):
        match one:
            case tree.Several():
                for each in one.of:
                    self.statement(each)
            case tree.Variable():
                self.variable(one)
            case tree.Sem():
                self.sem(one)
            case tree.OpDeclaration():
                self.op_declaration(one)
            case tree.Simple(what="skip"):
                self.put('__asm__ volatile("");')       # a loop around it stays a loop
            case tree.Simple(what="reply"):
                if self.block_name == "self":
                    self.put("mpd_reply_initial();")
                elif self.block_name != "NULL":
                    for line in self.copy_out(replying=True):
                        self.put(line)
                    self.put(f"mpd_reply(&{self.block_name});")
            case tree.Stop():
                status = self.condition(one.value) if one.value else "0"
                self.put(f"mpd_stop({status});")
            case tree.Evaluate():
                self.simple(lambda: self.put(f"{self.evaluated(one.expression)};"))
            case tree.Swap():
                self.simple(lambda: self.swap(one))
            case tree.Invoke():
                self.simple(lambda: self.invoke(one))
            case tree.Receive():
                self.simple(lambda: self.receive(one))
            case tree.Destroy():
                of = one.of.type
                how = "_op" if isinstance(of, Capability | Signature) else ""
                if of != NULL:
                    self.simple(lambda: self.put(f"mpd_destroy{how}({self.value(one.of)}, {self.place(one.at)});"))
            case tree.Semaphore():
                self.simple(lambda: self.semaphore(one))
            case tree.If():
                self.open(f"if ({self.condition(one.condition)})")
                self.statement(one.then)
                if one.otherwise:
                    self.close(" else {")
                    self.depth += 1
                    self.statement(one.otherwise)
                self.close()
            case tree.While():
                self.while_loop(one)
            case tree.For():
                number = self.fresh()
                self.quantified(one.quantifiers, lambda: self.loop_body(one.body, number), counting(one.body))
                self.put(f"exit_{number}: {UNUSED};")
            case tree.Co():
                self.co(one)
            case tree.In():
                self.input(one)
            case tree.Jump():
                self.jump(one)
            case tree.Block():
                self.block(one)

    def block(self, one: tree.Block):
        before, self.locals = self.locals, True
        self.open()
        for each in one.body:
            self.statement(each)
        self.close()
        self.locals = before

    def evaluated(self, e: tree.Expression) -> str:
        made = self.value(e) if not isinstance(e, tree.Assign) else self.assignment(e)
        unused = isinstance(e, tree.Call) and e.type is not None or isinstance(e, tree.Create)
        return f"(void){made}" if unused else made

    def loop_body(self, one: tree.Statement, number: int):
        """A loop's body and behind it the label of `next`."""
        self.context.append(("loop", number))
        before, self.locals = self.locals, True
        self.open()
        self.statement(one)
        self.close()
        self.locals = before
        self.context.pop()
        self.put(f"next_{number}: {UNUSED};")

    def jump(self, one: tree.Jump):
        self.open()
        for kind, number in reversed(self.context):
            if kind == "loop":
                if one.how != "return":
                    self.put(f"goto {one.how}_{number};")
                    self.close()
                    return
            elif kind == "in":
                if one.how == "return":
                    self.put(f"goto arm_{number};")
                    self.close()
                    return
                self.put(f"mpd_finish(b_{number});")
            elif one.how != "return":
                self.put(f"goto {one.how}_{number};")
                self.close()
                return
            else:
                self.put(f"mpd_drop(ended_{number});")
                self.put(f"mpd_co_end(co_{number});")
        self.put(f"goto done_{self.done};")
        self.close()

    def variable(self, one: tree.Variable):
        symbol = one.symbol
        assert symbol
        if symbol.kind == "constant" and symbol.value is not None:
            return      # it is its value
        of = symbol.type
        local = not (symbol.code.startswith("self->") or symbol.code.startswith("g_"))
        if isinstance(of, Array):
            if one.value is not None and one.of is None:        # a constant of its value's size
                def constant():
                    assert one.value is not None
                    self.put(f"{symbol.code} = mpd_copy_array({self.address(one.value)}, {self.size(of)}, "
                             f"{len(of.dims)});")
                if local:
                    self.put(f"{FREED}struct mpd_array {symbol.code} = {{0}};")
                self.simple(constant)
                return
            where = "NULL" if local else f"&{self.kept(symbol)}"
            made = self.with_temporaries(lambda: f"mpd_make_array({where}, {self.size(of)}, {len(of.dims)}, "
                                                 f"{self.bounds_of(of)}, {self.place(one.at)})")
            self.put(f"{FREED + 'struct mpd_array ' if local else ''}{symbol.code} = {made};")
        else:
            declaration = f"{UNUSED}{self.c_type(of)} " if local else ""
            self.put(f"{declaration}{symbol.code} = {self.zero(of)};")
        if one.value is not None:
            use = tree.Use(one.at, one.name)
            use.symbol, use.type = symbol, of
            value = one.value
            self.simple(lambda: self.put(f"{self.assign(use, value, one.at)};"))

    @staticmethod
    def kept(symbol: Symbol) -> str:
        """The list of memory of the component that a variable belongs to."""
        return symbol.code.rsplit("v_", 1)[0] + "base.kept" if symbol.code.startswith("self->") else \
            symbol.code.split(".")[0] + ".base.kept"

    def sem(self, one: tree.Sem):
        assert one.symbol and one.symbol.op
        op = one.symbol.op
        if op.semaphore:
            self.semaphore_declaration(one, op)
            return
        if op.local or op.dims:
            self.declare_op(op, one.at)
        if one.value is None:
            return
        # A semaphore that is exported, or more than one: as many invocations as its value says.
        value = one.value

        def fill():
            if not op.dims:
                number = self.fresh()
                self.put(f"mpd_int n_{number} = {self.value(value)};")
                self.put(f"if (n_{number} < 0)")
                self.put(f"    mpd_error({self.place(one.at)}, \"a semaphore's first value is negative\");")
                self.put(f"for (; n_{number} > 0; n_{number}--)")
                self.put(f"    mpd_send(mpd_block(sizeof(struct mpd_invocation), {self.place(one.at)}), "
                         f"mpd_cap({self.code_of(op)}), {self.place(one.at)});")
        self.open()
        self.simple(fill)
        self.close()

    def semaphore_declaration(self, one: tree.Sem, op: Op):
        code, place = self.code_of(op), self.place(one.at)
        name = c_string(op.name.text)
        if not op.dims:
            if op.local:
                self.put(f"{UNUSED}struct mpd_sem {code};")
            if op.local or one.value is not None:
                value = self.condition(one.value) if one.value is not None else "0"
                self.put(f"mpd_sem_init(&{code}, {name}, {value}, {place});")
            return
        count = len(op.dims.dims)
        where = "NULL" if op.local else f"&{self.owner(op)}base.kept"
        made = self.with_temporaries(lambda: f"mpd_make_array({where}, sizeof(struct mpd_sem), {count}, "
                                             f"{self.bounds_of(op.dims)}, {place})")      # type: ignore[arg-type]
        self.put(f"{FREED + 'struct mpd_array ' if op.local else ''}{code} = {made};")

        def fill():
            number = self.fresh()
            if one.value is not None:
                self.put(f"struct mpd_array v_{number} = {self.of_elements(one.value, INT)};")
                self.put(f"mpd_sem_array(&{code}, &v_{number}, {count}, {name}, {place});")
            else:
                self.put(f"mpd_sem_array(&{code}, NULL, {count}, {name}, {place});")
        self.open()
        self.simple(fill)
        self.close()

    def op_declaration(self, one: tree.OpDeclaration):
        assert one.symbol and one.symbol.op
        op = one.symbol.op
        if op.semaphore and not op.local:
            if op.dims:
                sem = tree.Sem(one.at, one.name, one.dims, None)
                sem.symbol = one.symbol
                self.semaphore_declaration(sem, op)
        elif op.local or op.dims:
            self.declare_op(op, one.at)

    def declare_op(self, op: Op, at: Position):
        """An operation in a block, or an array of them."""
        code, place, name = self.code_of(op), self.place(at), c_string(op.name.text)
        dims = op.dims
        if not dims:
            self.put(f"__attribute__((cleanup(mpd_free_op), unused)) struct mpd_op *{code} = "
                     f"mpd_make_op(NULL, MPD_IN, {name}, NULL, NULL, {self.wire(op.signature)});")
            return
        where = "NULL" if op.local else f"&{self.owner(op)}base.kept"
        instance = "NULL" if op.local else f"&{self.owner(op)}base"
        made = self.with_temporaries(lambda: f"mpd_make_array({where}, sizeof(struct mpd_op *), {len(dims.dims)}, "
                                             f"{self.bounds_of(dims)}, {place})")
        freed = FREED.replace("free_array", "free_ops")
        self.put(f"{freed + 'struct mpd_array ' if op.local else ''}{code} = {made};")
        self.put(f"mpd_op_array(&{code}, {len(dims.dims)}, {instance}, {name}, {self.wire(op.signature)});")

    def swap(self, one: tree.Swap):
        of, number, place = one.left.type, self.fresh(), self.place(one.at)
        if isinstance(of, String):
            self.temporaries = True
            sides = [(f"r_{number}_{i}", side) for i, side in enumerate((one.left, one.right))]
            for name, side in sides:
                self.put(f"struct mpd_text {name} = {self.text(side)};" if is_part(side) else
                         f"struct mpd_reference {name} = {self.reference(side)};")
            for name, side in sides:
                now = name if is_part(side) else f"mpd_text({name})"
                self.put(f"struct mpd_text t_{name} = mpd_concatenate({now}, MPD_TEXT(\"\"));")
            for (name, side), (other, _) in zip(sides, reversed(sides), strict=True):
                self.put(f"mpd_assign_{'part' if is_part(side) else 'text'}({name}, t_{other}, {place});")
            return
        if isinstance(of, Array):
            self.open()
            self.put(f"struct mpd_array l_{number} = {self.array(one.left)}, r_{number} = {self.array(one.right)};")
            self.put(f"{FREED}struct mpd_array s_{number} = mpd_copy_array(&l_{number}, {self.size(of)}, "
                     f"{len(of.dims)});")
            for to, value in ((f"l_{number}", f"r_{number}"), (f"r_{number}", f"s_{number}")):
                self.put(f"mpd_assign_array(&{to}, &{value}, {self.size(of)}, {len(of.dims)}, {place});")
            self.close()
            return
        kind = self.c_type(of)
        self.open()
        self.put(f"{kind} *l_{number} = &{self.lvalue(one.left)}, *r_{number} = &{self.lvalue(one.right)};")
        self.put(f"{kind} t_{number} = *l_{number};")
        self.put(f"*l_{number} = *r_{number};")
        self.put(f"*r_{number} = t_{number};")
        self.close()

    def invoke(self, one: tree.Invoke):
        call = one.call
        assert isinstance(call, tree.Call)
        if one.how == "call":
            self.put(f"{self.evaluated(call)};")
            return
        op, signature, number = call.op, call.signature, self.fresh()
        assert signature
        if op and op.semaphore and one.how == "send":
            self.put(f"mpd_V(&{self.semaphore_of(call.function)});")
            return
        self.open()
        self.fill(f"b_s{number}", signature, call.arguments, call.at)
        place = self.place(one.at)
        if one.how == "forward":
            for line in self.copy_out(replying=True):
                self.put(line)
            results = "0, 0, 0"
            around = self.arm_signatures[-1] if self.arm_signatures else self.current_op and self.current_op.signature
            if signature.result and around and around.result:
                results = (f"offsetof({self.block_type(signature)}, result), offsetof({self.block_type(around)}, "
                           f"result), sizeof({self.c_type(signature.result)})")
            self.put(f"mpd_forward(b_s{number}, {self.capability(call.function)}, {self.block_name}, {results}, "
                     f"{place});")
        else:
            self.put(f"mpd_send(b_s{number}, {self.capability(call.function)}, {place});")
        self.close()

    def receive(self, one: tree.Receive):
        call, signature = one.call, one.signature
        assert isinstance(call, tree.Call) and signature
        if one.op and one.op.semaphore:
            self.put(f"mpd_P(&{self.semaphore_of(call.function)}, {self.place(one.at)});")
            return
        number = self.fresh()
        self.open()
        kind = self.block_type(signature)
        self.put(f"{kind} *b_r{number} = mpd_receive({self.capability(call.function)}, {self.place(one.at)});")
        for i, (argument, formal) in enumerate(zip(call.arguments, signature.formals, strict=True)):
            self.put(f"{self.assign(argument, self.member(f'b_r{number}', i, formal, argument.at), argument.at)};")
        self.put(f"mpd_finish(b_r{number});")
        self.close()

    @staticmethod
    def member(block: str, i: int, formal: Formal, at: Position) -> tree.Use:
        """A block's argument, as an expression."""
        made = tree.Use(at, tree.Name(formal.name, at))
        made.symbol = Symbol(formal.name, "variable", at, formal.type, f"{block}->a_{i}",
                             by_reference=formal.mode == "ref")
        made.type = formal.type
        return made

    def semaphore(self, one: tree.Semaphore):
        place = self.place(one.at)
        if one.op and one.op.semaphore:
            code = self.semaphore_of(one.of)
            self.put(f"mpd_P(&{code}, {place});" if one.how == "P" else f"mpd_V(&{code});")
        elif one.how == "P":
            self.put(f"mpd_finish(mpd_receive({self.capability(one.of)}, {place}));")
        else:
            self.put(f"mpd_send(mpd_block(sizeof(struct mpd_invocation), {place}), {self.capability(one.of)}, "
                     f"{place});")

    def quantified(self, quantifiers: Sequence[tree.Quantifier], body: Callable[[], None], counted: str = ""):
        """Loops that overflow nowhere: a quantifier may end at the last integer. `counted`: how rounds are (counting),
        of the innermost quantifier; those of one around others each."""
        if not quantifiers:
            body()
            return
        one, *more = quantifiers
        assert one.symbol
        number, name = self.fresh(), one.symbol.code
        kind = self.c_type(one.symbol.type)
        self.open()
        self.put(f"mpd_int i_{number} = {self.condition(one.first)};")
        self.put(f"mpd_int last_{number} = {self.condition(one.last)};")
        step = one.step
        literal = isinstance(step, tree.Literal) and isinstance(step.value, int) and step.value > 0
        # The sign of a step may be told twice: downto with -1 is as downto with 1.
        self.put(f"mpd_int by_{number} = {self.condition(step) if step else 1};")
        if step and not literal:
            if one.down:
                self.put(f"if (by_{number} < 0)")
                self.put(f"    by_{number} = -by_{number};")
            self.put(f"if (by_{number} <= 0)")
            self.put(f'    mpd_error({self.place(step.at)}, "a quantifier\'s step is not positive");')
        first, second = (f"i_{number}", f"last_{number}") if one.down else (f"last_{number}", f"i_{number}")
        left = f"(uint32_t){first} - (uint32_t){second}"
        advance = f"i_{number} {'-' if one.down else '+'}= by_{number}"

        def a_round():
            self.put(f"{UNUSED}{kind} {name} = ({kind})i_{number};")
            if one.such_that:
                self.open(f"if ({self.condition(one.such_that)})")
            self.quantified(more, body, counted)
            if one.such_that:
                self.close()

        def leave(how: str):
            self.put(f"if ({left} < (uint32_t)by_{number})")
            self.put(f"    {how};")

        def each():
            a_round()
            leave(f"goto end_{number}")
            self.put(f"{advance};")

        self.open(f"if (i_{number} {'>=' if one.down else '<='} last_{number})")
        if counted == AHEAD and not more and (literal or not step):
            self.gives_way = True
            self.open(f"for (;; {advance})")
            self.put(f"mpd_int stop_{number} = i_{number};")
            self.put(f"stop_{number} {'-' if one.down else '+'}= "
                     f"by_{number} * mpd_ahead(&rounds, ({left}) / (uint32_t)by_{number});")
            self.open(f"for (;; {advance})")
            a_round()
            self.put(f"if (i_{number} == stop_{number})")
            self.put("    break;")
            self.close()
            leave("break")
            self.close()
        elif counted:
            self.each_round(each)
            self.put(f"end_{number}: {UNUSED};")
        else:
            self.open(f"for (;; {advance})")
            a_round()
            leave("break")
            self.close()
        self.close()
        self.close()

    def each_round(self, body: Callable[[], None]):
        """Rounds without end, each of which is counted. Those up to where it gives way are a loop of their own, without
        a call: in it C keeps in registers what does not change."""
        self.gives_way = True
        self.open("for (;; mpd_again(&rounds))")
        self.put("MPD_KEEP(rounds);")
        self.open("do")
        body()
        self.close(" while (mpd_more(&rounds));")
        self.close()

    def while_loop(self, one: tree.While):
        number = self.fresh()

        def each():
            if one.first:
                self.loop_body(one.body, number)
            self.put(f"if (!({self.condition(one.condition)}))")
            self.put(f"    goto exit_{number};")
            if not one.first:
                self.loop_body(one.body, number)
        self.each_round(each)
        self.put(f"exit_{number}: {UNUSED};")

    def begin_code(self):
        self.done, self.gives_way, self.beginning = self.fresh(), False, len(self.lines)

    def end_code(self):
        self.put(f"done_{self.done}: {UNUSED};")
        if self.gives_way:
            self.lines.insert(self.beginning, "    int rounds = MPD_LOOPS;")
            self.put("mpd_rounds(rounds);")

    def co(self, one: tree.Co):
        number = self.fresh()
        self.open()
        self.put(f"struct mpd_co *co_{number} = mpd_co_start();")
        for i, arm in enumerate(one.arms):
            def body(arm=arm, i=i):
                self.open()
                self.simple(lambda: self.co_invocation(arm, i, number))
                self.close()
            self.quantified(arm.quantifiers, body, EACH)
        self.put(f"void *ended_{number};")
        self.open(f"while ((ended_{number} = mpd_co_wait(co_{number}, {self.place(one.at)})))")
        for i, arm in enumerate(one.arms):
            self.co_end(arm, i, number)
        self.put(f"mpd_drop(ended_{number});")
        self.close()
        if any(arm.then for arm in one.arms):
            self.open("if (0)")
            self.put(f"exit_{number}: {UNUSED}mpd_drop(ended_{number});")
            self.close()
        self.put(f"mpd_co_end(co_{number});")
        self.close()

    def co_invocation(self, arm: tree.CoArm, i: int, number: int):
        call = arm.call
        assert isinstance(call, tree.Call) and call.signature
        self.fill("b", call.signature, call.arguments, call.at)
        if arm.how == "send":
            self.put(f"mpd_send(b, {self.capability(call.function)}, {self.place(call.at)});")
            self.put("b = mpd_block(sizeof *b, NULL);")
        for j, quantifier in enumerate(arm.quantifiers):
            assert quantifier.symbol
            self.put(f"((struct mpd_invocation *)b)->values[{j}] = (mpd_int){quantifier.symbol.code};")
        cap = "mpd_cap(&mpd_noop)" if arm.how == "send" else self.capability(call.function)
        self.put(f"mpd_co_call(co_{number}, {i}, b, {cap}, {self.place(call.at)});")

    def co_end(self, arm: tree.CoArm, i: int, number: int):
        call = arm.call
        assert isinstance(call, tree.Call) and call.signature
        signature = call.signature
        copied = any(formal.mode in ("var", "res") for formal in signature.formals) and arm.how == "call"
        if not (arm.to or arm.then or copied):
            return
        self.open(f"if (((struct mpd_invocation *)ended_{number})->arm == {i})")
        for j, quantifier in enumerate(arm.quantifiers):
            assert quantifier.symbol
            kind = self.c_type(quantifier.symbol.type)
            self.put(f"{UNUSED}{kind} {quantifier.symbol.code} = "
                     f"({kind})((struct mpd_invocation *)ended_{number})->values[{j}];")
        block = f"b_e{self.fresh()}"
        self.put(f"{UNUSED}{self.block_type(signature)} *{block} = ended_{number};")
        if copied:
            self.copy_back(block, signature, call.at)
        if arm.to is not None:
            to = arm.to
            result = tree.Use(call.at, tree.Name("result", call.at))
            result.symbol = Symbol("result", "variable", call.at, signature.result, f"{block}->result")
            result.type = signature.result
            self.simple(lambda: self.put(f"{self.assign(to, result, call.at)};"))
        if arm.then:
            label = self.fresh()
            self.context.append(("co", number))
            lines = len(self.lines)
            self.block(arm.then)
            self.context.pop()
            # `next` ends this arm's post-processing.
            self.lines[lines:] = [line.replace(f"goto next_{number};", f"goto next_{label};")
                                  for line in self.lines[lines:]]
            self.put(f"next_{label}: {UNUSED};")
        self.close()

    def input(self, one: tree.In):
        first = one.arms[0]
        for arm in one.arms:
            assert arm.signature
        if first.op and first.op.semaphore:
            self.simple(lambda: self.put(f"mpd_P(&{self.semaphore_of(first.call.function)}, {self.place(one.at)});"))
            self.open()
            self.put(f"{UNUSED}struct mpd_invocation *b_{first.number} = mpd_block(sizeof *b_{first.number}, NULL);")
            self.put(f"b_{first.number}->replied = true;")
            self.arm_body(first)
            self.close()
            return
        simple = len(one.arms) == 1 and one.otherwise is None and not first.quantifiers and not first.such_that and \
            not first.by
        self.open()
        for arm in one.arms:
            self.put(f"{UNUSED}{self.block_type(arm.signature)} *b_{arm.number} = NULL;")     # type: ignore[arg-type]
        if simple:
            self.simple(lambda: self.put(f"b_{first.number} = mpd_receive({self.capability(first.call.function)}, "
                                         f"{self.place(one.at)});"))
            self.arm_body(first)
            self.close()
            return
        number = self.fresh()
        self.put("mpd_choose();")
        self.put(f"struct mpd_in in_{number} = {{0}};")
        self.put(f"struct mpd_invocation *best_{number};")
        self.put(f"int arm_of_{number};")
        for arm in one.arms:
            for j, _ in enumerate(arm.quantifiers):
                self.put(f"mpd_int q_{arm.number}_{j} = 0;")
        self.open("for (;;)")
        self.put(f"best_{number} = NULL;")
        self.put(f"arm_of_{number} = 0;")
        if self.uses_vm:
            for arm in one.arms:
                self.quantified(arm.quantifiers, partial(self.refresh, arm))
        # What a condition calls may not change the queues that are looked through.
        guarded = any(calls(e) for arm in one.arms for e in (arm.such_that, arm.by))
        if guarded:
            self.put("mpd_now.choosing++;")
        for i, arm in enumerate(one.arms):
            self.quantified(arm.quantifiers, partial(self.choose, arm, i + 1, number))
        if guarded:
            self.put("mpd_now.choosing--;")
        if self.uses_vm:
            self.put(f"if (best_{number} && !mpd_claim(&best_{number}, {self.place(one.at)}))")
            self.put("    continue;")
        self.put(f"if (best_{number})")
        self.put("    break;")
        if one.otherwise:
            self.put("break;")
        else:
            for arm in one.arms:
                self.quantified(arm.quantifiers, partial(self.listen, arm, number))
            self.put(f"mpd_in_wait(&in_{number}, {self.place(one.at)});")
        self.close()
        self.put(f"if (best_{number})")
        self.put(f"    mpd_take(best_{number});")
        self.put("mpd_chosen();")
        for i, arm in enumerate(one.arms):
            self.open(f"{'else ' if i else ''}if (arm_of_{number} == {i + 1})")
            self.put(f"b_{arm.number} = (void *)best_{number};")
            for j, quantifier in enumerate(arm.quantifiers):
                assert quantifier.symbol
                kind = self.c_type(quantifier.symbol.type)
                self.put(f"{UNUSED}{kind} {quantifier.symbol.code} = ({kind})q_{arm.number}_{j};")
            self.arm_body(arm)
            self.close()
        if one.otherwise:
            self.open("else")
            self.statement(one.otherwise)
            self.close()
        self.put(f"(void)in_{number};")
        self.close()

    def listen(self, arm: tree.InArm, number: int):
        cap = self.with_temporaries(lambda: self.capability(arm.call.function))
        self.put(f"mpd_listen(&in_{number}, {cap}, {self.place(arm.at)});")

    def refresh(self, arm: tree.InArm):
        cap = self.with_temporaries(lambda: self.capability(arm.call.function))
        self.put(f"mpd_refresh({cap}, {self.place(arm.at)});")

    def choose(self, arm: tree.InArm, i: int, number: int):
        """Looks at the invocations of one operation: the earliest one of all arms is taken, or the one whose `by` is
        least among those of its own operation."""
        block = f"b_{arm.number}"
        kind = self.block_type(arm.signature)       # type: ignore[arg-type]
        cap = self.with_temporaries(lambda: self.capability(arm.call.function))
        each = f"e_{self.fresh()}"
        self.open(f"for (struct mpd_invocation *{each} = mpd_first({cap}, {self.place(arm.at)}); {each}; "
                  f"{each} = {each}->next)")
        self.put(f"if (best_{number} && (int32_t)({each}->arrival - best_{number}->arrival) >= 0)")
        self.put("    break;")
        self.put(f"{block} = ({kind} *){each};")
        if arm.such_that:
            self.put(f"if (!{self.condition(arm.such_that)})")
            self.put("    continue;")
        if arm.by:
            by = self.c_type(arm.by.type)
            least = f"least_{self.fresh()}"
            self.put(f"{by} {least} = {self.condition(arm.by)};")
            self.put(f"struct mpd_invocation *found_{least} = {each};")
            self.open(f"for ({each} = {each}->next; {each}; {each} = {each}->next)")
            self.put(f"{block} = ({kind} *){each};")
            if arm.such_that:
                self.put(f"if (!{self.condition(arm.such_that)})")
                self.put("    continue;")
            self.put(f"{by} this_{least} = {self.condition(arm.by)};")
            self.open(f"if (this_{least} < {least})")
            self.put(f"{least} = this_{least};")
            self.put(f"found_{least} = {each};")
            self.close()
            self.close()
            self.put(f"{each} = found_{least};")
        self.put(f"best_{number} = {each};")
        self.put(f"arm_of_{number} = {i};")
        for j, quantifier in enumerate(arm.quantifiers):
            assert quantifier.symbol
            self.put(f"q_{arm.number}_{j} = (mpd_int){quantifier.symbol.code};")
        self.put("break;")
        self.close()

    def arm_body(self, arm: tree.InArm):
        before, self.block_name = self.block_name, f"b_{arm.number}"
        assert arm.signature
        self.arm_signatures.append(arm.signature)
        self.context.append(("in", arm.number))
        self.block(arm.body)
        self.context.pop()
        self.arm_signatures.pop()
        self.block_name = before
        self.put(f"arm_{arm.number}: {UNUSED};")
        self.put(f"mpd_finish(b_{arm.number});")

    # Functions

    def parameters(self, proc: tree.Proc, op: Op) -> list[tuple[str, str]]:
        """Type and name in C of each; what is copied in or out has another name than in the code."""
        made = []
        for number, (formal, symbol) in enumerate(zip(op.signature.formals, proc.parameters, strict=True)):
            of = formal.type
            copied = formal.mode in ("var", "res")
            if isinstance(of, Array):
                made.append(("struct mpd_array", f"a_{number}"))
            elif isinstance(of, String) and formal.mode != "val":
                made.append(("struct mpd_reference", f"a_{number}" if copied else symbol.code))
            elif formal.mode == "val":
                made.append((self.c_type(of), symbol.code))
            else:
                made.append((self.c_type(of) + " *", f"a_{number}" if copied else symbol.code))
        return made

    def head(self, op: Op) -> str:
        assert op.body
        name = op.resource.name.text
        given = [f"{UNUSED}struct r_{name} *self", *(f"{UNUSED}{of} {code}" for of, code in
                                                     self.parameters(op.body, op))]
        if op.apart:
            given.append(f"{UNUSED}void *own")
        return f"static {UNUSED}{self.c_type(op.signature.result)} {self.function(op)}({', '.join(given)})"

    def prologue(self, proc: tree.Proc, op: Op):
        for number, (formal, symbol) in enumerate(zip(op.signature.formals, proc.parameters, strict=True)):
            of, code = formal.type, symbol.code
            copied = formal.mode in ("var", "res")
            if isinstance(of, Array):
                if formal.mode == "ref":
                    self.put(f"{UNUSED}struct mpd_array {code} = a_{number};")
                else:
                    self.put(f"{FREED}struct mpd_array {code} = mpd_copy_array(&a_{number}, {self.size(of)}, "
                             f"{len(of.dims)});")
                for j, dim in enumerate(of.dims):
                    low = self.condition(dim.first) if dim.first else "1"
                    high = self.condition(dim.last) if dim.last else "0"
                    if dim.first is None and dim.last is not None:      # [*:high]
                        low = f"(mpd_int)((uint32_t){high} - {code}.d[{j}].count + 1)"
                    known = "true" if dim.first and dim.last else "false"
                    self.put(f"mpd_rebase(&{code}, {j}, {low}, {high}, {known}, {self.place(op.name.at)});")
            elif copied and isinstance(of, String):
                self.put(f"{self.c_type(of)} {code} = {self.zero(of)};")
                if formal.mode == "var":
                    self.put(f"mpd_assign_text(MPD_REFERENCE({code}, {of.maximum}), mpd_text(a_{number}), "
                             f"{self.place(op.name.at)});")
            elif copied:
                value = f"*a_{number}" if formal.mode == "var" else self.zero(of)
                self.put(f"{self.c_type(of)} {code} = {value};")

    def copy_out(self, replying: bool = False) -> list[str]:
        """What a proc gives back at its end, or in a reply."""
        op = self.current_op
        if op is None or op.body is None or replying and self.block_name != "own_block":
            return []
        made = []
        for number, (formal, symbol) in enumerate(zip(op.signature.formals, op.body.parameters, strict=True)):
            of, code = formal.type, symbol.code
            if formal.mode not in ("var", "res"):
                continue
            if isinstance(of, Array):
                made.append(f"mpd_assign_array(&a_{number}, &{code}, {self.size(of)}, {len(of.dims)}, "
                            f"{self.place(op.name.at)});")
            elif isinstance(of, String):
                made.append(f"mpd_assign_text(a_{number}, mpd_text(MPD_REFERENCE({code}, {of.maximum})), "
                            f"{self.place(op.name.at)});")
            else:
                made.append(f"*a_{number} = {code};")
        if replying and op.signature.result and op.body.result_symbol:
            made.append(f"(({self.block_type(op.signature)} *)own_block)->result = {op.body.result_symbol.code};")
        return made

    current_op: Op | None = None

    def operation_function(self, op: Op):
        proc = op.body
        assert proc
        self.current_op, self.context = op, []
        self.block_name = "own_block" if op.apart else "NULL"
        self.open(self.head(op))
        self.put(f"mpd_enter({self.place(op.name.at)});")
        self.begin_code()
        if op.apart:
            self.put(f"{UNUSED}void *own_block = own;")
        self.prologue(proc, op)
        result = proc.result_symbol
        if result and isinstance(result.type, Array):
            # As a variable that is used by its descriptor.
            self.put(f"{self.c_type(result.type)} r_{self.done} = {self.zero(result.type)};")
            self.put(f"{UNUSED}struct mpd_array {result.code} = mpd_inline_array(&r_{self.done}, "
                     f"{self.size(result.type)}, {len(result.type.dims)}, {self.bounds_of(result.type)});")
        elif result:
            self.put(f"{self.c_type(result.type)} {result.code} = {self.zero(result.type)};")
        self.statement(proc.body)
        self.end_code()
        if op.apart:
            self.open("if (own_block == own)")
        for line in self.copy_out():
            self.put(line)
        if op.apart:
            self.close()
        if result:
            self.put(f"return {f'r_{self.done}' if isinstance(result.type, Array) else result.code};")
        self.close()
        self.wrapper(op)
        self.current_op, self.block_name = None, "NULL"
        self.put("")

    def wrapper(self, op: Op):
        """Calls a proc with what an invocation's block says."""
        self.open(f"static {UNUSED}void invoke_{self.function(op)}(void *block)")
        kind = self.block_type(op.signature)
        if isinstance(op.signature.result, String | Record | Array):
            self.put(f"mpd_enter({self.place(op.name.at)});")       # it may be large
        self.put(f"{UNUSED}{kind} *b = block;")
        given = ["((struct mpd_invocation *)block)->op->self"]
        for i, formal in enumerate(op.signature.formals):
            if formal.mode in ("var", "res") and not isinstance(formal.type, Array):
                given.append(f"MPD_REFERENCE(b->a_{i}, {formal.type.maximum})" if isinstance(formal.type, String)
                             else f"&b->a_{i}")
            else:
                given.append(f"b->a_{i}")
        if op.apart:
            given.append("block")
        made = f"{self.function(op)}({', '.join(given)})"
        if op.signature.result and op.apart:
            # After a reply the result is the invoker's, and what is served is a copy.
            self.put(f"{self.c_type(op.signature.result)} r = {made};")
            self.put("if (!((struct mpd_invocation *)block)->replied)")
            self.put("    b->result = r;")
        elif op.signature.result:
            self.put(f"b->result = {made};")
        else:
            self.put(f"{made};")
        self.close()

    def declarations(self, resource: Resource):
        name = resource.name.text
        self.open(f"struct r_{name}")
        self.put("struct mpd_instance base;")
        if resource.exports:
            self.put(f"void *exports[{len(resource.exports)}];")
        for symbol in resource.fields:
            if symbol.kind == "constant" and symbol.value is not None:
                continue
            of = "struct mpd_array" if isinstance(symbol.type, Array) else self.c_type(symbol.type)
            self.put(f"{of} v_{symbol.name};")
        for op in resource.ops:
            kind = "s" if op.semaphore else "o"
            of = "struct mpd_array" if op.dims else "struct mpd_sem" if op.semaphore else "struct mpd_op *"
            self.put(f"{of} {kind}_{op.name.text};")
        self.close(";")
        self.put(f"static {UNUSED}void *n_{name}(void);")
        self.put(f"static {UNUSED}void t_{name}(void *block);")
        if self.uses_vm and resource.kind == "resource":
            self.put(f"static const struct mpd_resource q_{name} {UNUSED};")
        if resource.kind == "global":
            self.put(f"static struct r_{name} g_{name};")
        for op in resource.externals:
            given = ", ".join(self.external_type(formal) for formal in op.signature.formals) or "void"
            # A name of its own in C, whatever headers say of the function.
            self.put(f"{self.c_type(op.signature.result)} {op.code}({given}) __asm__({c_string(op.name.text)});")
        self.put("")

    def external_type(self, formal: Formal) -> str:
        if isinstance(formal.type, String):
            return "const char *" if formal.mode == "val" else "char *"
        if isinstance(formal.type, Array):
            return "void *"
        return self.c_type(formal.type) + ("" if formal.mode == "val" else " *")

    def prototypes(self, resource: Resource):
        for op in resource.ops:
            if op.body:
                self.put(f"{self.head(op)};")
                self.put(f"static {UNUSED}void invoke_{self.function(op)}(void *block);")

    def code(self, resource: Resource):
        self.resource = resource
        name = resource.name.text
        for op in resource.ops:
            if op.body:
                self.operation_function(op)
        self.instance(resource)
        self.current_op, self.context = None, []
        self.block_name = "self" if resource.replies else "NULL"
        self.locals = False
        self.open(f"static {UNUSED}void i_{name}({UNUSED}struct r_{name} *self)")
        self.put(f"mpd_enter({self.place(resource.name.at)});")
        self.begin_code()
        for item in [*resource.spec, *(resource.body or [])]:
            if isinstance(item, tree.Proc) and item.is_process:
                self.start(item)
            elif not isinstance(item, tree.Proc | tree.Final | tree.Import | tree.Extend | tree.External):
                self.statement(item)
        self.end_code()
        self.close()
        self.block_name = "NULL"
        self.initial_wrapper(resource)
        if resource.final:
            self.open(f"static {UNUSED}void f_{name}(void *of)")
            self.put(f"{UNUSED}struct r_{name} *self = of;")
            self.put(f"mpd_enter({self.place(resource.final.at)});")
            self.begin_code()
            self.statement(resource.final.body)
            self.end_code()
            self.close()
        self.put("")

    def instance(self, resource: Resource):
        """A new instance, with its operations, before its initial code."""
        name = resource.name.text
        final = "NULL"
        if resource.final:
            final = f"f_{name}"
            self.put(f"static {UNUSED}void f_{name}(void *of);")
        self.open(f"static {UNUSED}void *n_{name}(void)")
        if resource.kind == "resource":
            self.put(f"struct r_{name} *self = mpd_new_instance(sizeof *self, {c_string(name)}, {final});")
            owner = "self->"
        else:
            self.put(f"struct r_{name} *self = &g_{name};")
            self.put(f"self->base = (struct mpd_instance){{.serial = 1, .name = {c_string(name)}}};")
            owner = f"g_{name}."
        if resource.exports:
            self.put("self->base.exports = self->exports;")
        if resource.exports and self.uses_vm:
            arrays = sum(1 << number for number, op in enumerate(resource.exports[:32]) if op.dims)
            self.put(f"self->base.export_count = {min(len(resource.exports), 32)};")
            self.put(f"self->base.export_arrays = {arrays}u;")
        for op in resource.ops:
            code = f"{owner}{'s' if op.semaphore else 'o'}_{op.name.text}"
            if op.semaphore:
                if not op.dims:
                    self.put(f"mpd_sem_init(&{code}, {c_string(op.name.text)}, 0, NULL);")
            elif not op.dims:
                kind = "MPD_IN" if op.body is None else "MPD_APART" if op.apart else "MPD_PROC"
                function = f"invoke_{self.function(op)}" if op.body else "NULL"
                self.put(f"{code} = mpd_make_op(&self->base, {kind}, {c_string(op.name.text)}, {function}, "
                         f"self, {self.wire(op.signature)});")
            if op.exported:
                self.put(f"self->exports[{op.export}] = {'&' if op.dims else ''}{code};")
        self.put("return self;")
        self.close()

    def initial_wrapper(self, resource: Resource):
        name = resource.name.text
        self.open(f"static {UNUSED}void t_{name}(void *block)")
        kind = self.block_type(self.creation(resource))
        self.put(f"{kind} *b = block;")
        self.put(f"struct r_{name} *self = (struct r_{name} *)b->result.instance;")
        for i, symbol in enumerate(resource.parameter_symbols):
            of = symbol.type
            if isinstance(of, Array):
                bounds = []
                for j in range(len(of.dims)):
                    bounds.append(f"b->a_{i}.d[{j}].low, b->a_{i}.d[{j}].low + (mpd_int)b->a_{i}.d[{j}].count - 1")
                self.put(f"self->v_{symbol.name} = mpd_make_array(&self->base.kept, {self.size(of)}, {len(of.dims)}, "
                         f"(mpd_int[]){{{', '.join(bounds)}}}, NULL);")
                self.put(f"mpd_assign_array(&self->v_{symbol.name}, &b->a_{i}, {self.size(of)}, {len(of.dims)}, NULL);")
            elif isinstance(of, String) and of.maximum is None:
                self.put(f"char *c_{i} = mpd_keep(&self->base.kept, (size_t)b->a_{i}.length);")
                self.put(f"memcpy(c_{i}, b->a_{i}.data, (size_t)b->a_{i}.length);")
                self.put(f"self->v_{symbol.name} = (struct mpd_text){{c_{i}, b->a_{i}.length}};")
            else:
                self.put(f"self->v_{symbol.name} = b->a_{i};")
        self.put(f"i_{name}(self);")
        self.close()
        if self.uses_vm and resource.kind == "resource":
            self.open(f"static {UNUSED}struct mpd_rcap k_{name}(void *block, const char *location)")
            self.put(f"{kind} *b = block;")
            self.put(f"struct mpd_instance *i = n_{name}();")
            self.put("b->result = mpd_rcap(i);")
            self.put(f"mpd_create(b, t_{name}, {'true' if resource.replies else 'false'}, i, location);")
            self.put("return mpd_rcap(i);")
            self.close()
            self.put(f"static const struct mpd_resource q_{name} = {{k_{name}, {self.wire(self.creation(resource))}}};")

    def start(self, process: tree.Proc):
        """A process begins where it is declared: by an invocation for each value of its quantifiers."""
        op = process.op
        assert op

        def body():
            self.open()
            kind = self.block_type(op.signature)
            self.put(f"{kind} *b = mpd_block(sizeof *b, {self.place(process.name.at)});")
            for number, quantifier in enumerate(process.quantifiers):
                assert quantifier.symbol
                self.put(f"b->a_{number} = {quantifier.symbol.code};")
            self.put(f"mpd_start({self.code_of(op)}, b, {self.place(process.name.at)});")
            self.close()
        self.quantified(process.quantifiers, body, EACH)

    def types(self, records: Sequence[Record]) -> list[str]:
        """Declarations of the types that the rest turned out to use."""
        made = [f"struct rec_{record.number};" for record in records]
        pending = list(records)
        defined: set[str] = set()
        bodies: list[str] = []
        for record in pending:
            members = []
            for field, of in record.fields:
                members.append(f"    {self.c_type(of)} f_{field};")
            if record.union:
                members = ["    union {", *("    " + one for one in members), "    };"]
            bodies.append(f"struct rec_{record.number} {{\n" + "\n".join(members or ["    char none;"]) + "\n};")
        made += [f"MPD_STRING({n});" for n in sorted(self.strings)]
        arrays = dict(self.arrays)
        for record, body in zip(pending, bodies, strict=True):
            made += self.arrays_before(arrays, defined, f"struct rec_{record.number}")
            made.append(body)
            defined.add(f"struct rec_{record.number}")
        made += self.arrays_before(arrays, defined, None)
        for key, (name, _) in self.blocks.items():
            inside = "".join(f"    {one.strip()};\n" for one in key.split(";") if one.strip())
            made.append(f"{name} {{\n    struct mpd_invocation base;\n{inside}}};")
        return made

    @staticmethod
    def arrays_before(arrays: dict[tuple[str, int], str], defined: set[str], needed: str | None) -> list[str]:
        """Arrays within structures, as soon as what they are of is defined."""
        made = []
        for (of, count), name in list(arrays.items()):
            if "rec_" not in of or of.endswith("*") or of in defined:
                made.append(f"{name} {{\n    {of} v[{max(count, 1)}];\n}};")
                defined.add(name)
                del arrays[of, count]
        return made

    def program(self, components: Sequence[Resource], main: Resource, records: Sequence[Record]) -> str:
        for record in records:
            for _, of in record.fields:
                self.c_type(of)
        for one in components:
            if one.body is not None:
                self.declarations(one)
        for one in components:
            if one.body is not None:
                self.prototypes(one)
        self.put("")
        for one in components:
            if one.body is not None:
                self.code(one)
        name = main.name.text
        self.put(f"static struct r_{name} *the_main;")
        self.put(f"const char *const mpd_main_name = {c_string(name)};")
        self.open("void mpd_globals_initial(void)")
        for one in components:
            if one.kind == "global" and one.body is not None:
                self.put(f"i_{one.name.text}(n_{one.name.text}());")
        self.close()
        self.open("void mpd_main_initial(void)")
        self.put("mpd_globals_initial();")
        self.put(f"the_main = n_{name}();")
        self.put("the_main->base.inside = 1;")      # its initial code goes on if it is destroyed
        self.put(f"i_{name}(the_main);")
        self.close()
        finals = [one for one in components if one.kind == "global" and one.final]
        if main.final or finals:
            self.open("static void final(void)")
            if main.final:
                self.put("if (the_main && !the_main->base.ending)")
                self.put(f"    f_{name}(the_main);")
            for one in reversed(finals):
                self.put(f"f_{one.name.text}(&g_{one.name.text});")
            self.close()
        self.put(f"void (*const mpd_main_final)(void) = {'final' if main.final or finals else '0'};")
        self.put(f"void (*const mpd_manager)(int, char **) = {'mpd_execution_manager' if self.uses_vm else '0'};")
        code, self.lines = self.lines, []
        if self.uses_vm:
            number = crc32("\n".join(code).encode("latin-1", "replace"))
            code.append(f"const uint32_t mpd_program_number = {number}u;")
        self.put("/* Made by Interlock's MPD compiler; do not edit. */")
        self.put('#pragma GCC optimize("no-shrink-wrap")    /* stacks are checked behind the making of a frame */')
        self.put("#include <stdlib.h>")
        self.put("#include <string.h>")
        self.put('#include "remote.h"' if self.uses_vm else '#include "mpd.h"')
        self.put("")
        for text in self.types(records):
            self.lines += text.splitlines()
        self.put("")
        return "\n".join(self.lines + self.wires + code) + "\n"


def emit(components: Sequence[Resource], main: Resource, records: Sequence[Record], file: str, uses_vm: bool) -> str:
    return Emitter(file, uses_vm).program(components, main, records)
