"""A checked tree to C. Names of the program get prefixes, so that none is C's or the run-time system's."""

from collections.abc import Callable, Sequence

from user.mpd.compiler import tree
from user.mpd.compiler.check import WRITES
from user.mpd.compiler.tree import Position

TYPES = {"int": "mpd_int", "bool": "bool", "string": "const char *"}
ZERO = {"int": "0", "bool": "false", "string": '""'}
OPERATORS = {"and": "&&", "or": "||", "xor": "!=", "not": "!"}
FUNCTIONS = {"/": "mpd_divide", "%": "mpd_remainder", "**": "mpd_power"}
UNUSED = "__attribute__((unused)) "


def c_string(text: str) -> str:
    return '"' + "".join(c if c.isalnum() or c in " ./_:-," else f"\\{ord(c):03o}" for c in text) + '"'


def c_type(of: str | None) -> str:
    return TYPES[of] if of else "void"


def calls(one: tree.Expression) -> bool:
    match one:
        case tree.Call():
            return True
        case tree.Unary():
            return calls(one.operand)
        case tree.Binary():
            return calls(one.left) or calls(one.right)
    return False


class Emitter:
    def __init__(self, file: str):
        self.file = file
        self.lines: list[str] = []
        self.depth = 0
        self.labels = 0
        self.loops: list[int] = []
        self.returns = "return;"
        self.resource: tree.Resource

    def put(self, line: str):
        self.lines.append("    " * self.depth + line if line else "")

    def open(self, line: str = ""):
        self.put(line + " {" if line else "{")
        self.depth += 1

    def close(self, more: str = ""):
        self.depth -= 1
        self.put("}" + more)

    def place(self, at: Position) -> str:
        return c_string(f"{self.file}:{at.line}:{at.column}")

    def fresh(self) -> int:
        self.labels += 1
        return self.labels

    # Expressions

    def expression(self, one: tree.Expression) -> str:
        match one:
            case tree.Literal(value=bool()):
                return "true" if one.value else "false"
            case tree.Literal(value=str()):
                return c_string(str(one.value))
            case tree.Literal():
                return str(one.value)
            case tree.Use():
                assert one.symbol
                return one.symbol.code
            case tree.Call():
                return self.call(one)
            case tree.Unary():
                return f"({OPERATORS.get(one.operator, one.operator)} {self.expression(one.operand)})"
            case tree.Binary():
                return self.binary(one)
        raise AssertionError(one)

    def binary(self, one: tree.Binary) -> str:
        left, right = self.expression(one.left), self.expression(one.right)
        lazy = one.operator in ("and", "&&", "or", "||")
        before = ""
        if calls(one.right) and not lazy:     # C leaves the order open
            name = f"t_{self.fresh()}"
            before, left = f"{c_type(one.left.type)} {name} = {left}; ", name
        if one.operator in FUNCTIONS:
            value = f"{FUNCTIONS[one.operator]}({left}, {right}, {self.place(one.at)})"
        else:
            value = f"({left} {OPERATORS.get(one.operator, one.operator)} {right})"
        return f"({{ {before}{value}; }})" if before else value

    def argument(self, one: tree.Expression, parameter: tree.Parameter) -> str:
        return f"&{self.expression(one)}" if parameter.mode == "ref" else self.expression(one)

    def call(self, one: tree.Call) -> str:
        assert one.symbol and one.symbol.op
        op = one.symbol.op
        given = [self.argument(*pair) for pair in zip(one.arguments, op.parameters, strict=True)]
        before = ""
        if any(calls(argument) for argument in one.arguments[1:]):
            names = [f"t_{self.fresh()}" for _ in given]
            before = "".join(f"__auto_type {name} = {value}; " for name, value in zip(names, given, strict=True))
            given = names
        value = f"{one.symbol.code}({', '.join(given if op.external else ['self', *given])})"
        return f"({{ {before}{value}; }})" if before else value

    # Statements

    def statement(self, one: tree.Statement):
        match one:
            case tree.Several():
                for each in one.of:
                    self.statement(each)
            case tree.Variable():
                assert one.symbol
                value = self.expression(one.value) if one.value else ZERO[one.symbol.type or "int"]
                is_field = one.symbol.code.startswith("self->")
                self.put(f"{'' if is_field else UNUSED + c_type(one.symbol.type) + ' '}{one.symbol.code} = {value};")
            case tree.Sem():
                assert one.symbol
                value = self.expression(one.value) if one.value else "0"
                self.put(f"mpd_sem_init(&{one.symbol.code}, {c_string(one.name.text)}, {value}, {self.place(one.at)});")
            case tree.Assign():
                self.assign(one)
            case tree.Swap():
                first, second = (symbol.code for symbol in one.symbols if symbol)
                self.put(f"{{ __auto_type t = {first}; {first} = {second}; {second} = t; }}")
            case tree.Invoke():
                if one.call.symbol is None:
                    self.write(one.call)
                elif one.how == "call":
                    self.put(f"{self.call(one.call)};")
                else:
                    self.open()
                    self.put(f"mpd_send({self.block(one.call)}, {self.place(one.at)});")
                    self.close()
            case tree.Create():
                self.create(one)
            case tree.Semaphore():
                assert one.symbol
                place = f", {self.place(one.at)}" if one.how == "P" else ""
                self.put(f"mpd_{one.how}(&{one.symbol.code}{place});")
            case tree.If():
                self.open(f"if ({self.expression(one.condition)})")
                self.statement(one.then)
                if one.otherwise:
                    self.close(" else {")
                    self.depth += 1
                    self.statement(one.otherwise)
                self.close()
            case tree.While():
                self.open(f"while ({self.expression(one.condition)})")
                self.put("mpd_loop();")
                self.close(self.loop(one.body))
                self.put(f"exit_{self.labels_of}: {UNUSED};")
            case tree.For():
                end: list[int] = []

                def body():
                    number = self.body(one.body)
                    end.append(number)

                self.quantified(one.quantifiers, body)
                self.put(f"exit_{end[0]}: {UNUSED};")
            case tree.Co():
                self.co(one)
            case tree.Jump():
                self.put(self.returns if one.how == "return" else f"goto {one.how}_{self.loops[-1]};")
            case tree.Block():
                self.open()
                for each in one.body:
                    self.statement(each)
                self.close()

    labels_of = 0

    def body(self, one: tree.Statement) -> int:
        """A loop's body and behind it the label of `next`; the number of its labels."""
        number = self.fresh()
        self.loops.append(number)
        self.statement(one)
        self.loops.pop()
        self.put(f"next_{number}: {UNUSED};")
        return number

    def loop(self, one: tree.Statement) -> str:
        self.labels_of = self.body(one)
        return ""

    def assign(self, one: tree.Assign):
        assert one.symbol
        to, value = one.symbol.code, self.expression(one.value)
        if one.operator in FUNCTIONS:
            value = f"{FUNCTIONS[one.operator]}({to}, t, {self.place(one.at)})"
            self.put(f"{{ mpd_int t = {self.expression(one.value)}; {to} = {value}; }}")
        elif one.operator:
            self.put(f"{{ mpd_int t = {value}; {to} = {to} {one.operator} t; }}")
        else:
            self.put(f"{to} = {value};")

    def write(self, call: tree.Call):
        assert call.name.text in WRITES
        whole = call.name.text == "write"
        self.open()
        for number, one in enumerate(call.arguments):
            self.put(f"{c_type(one.type)} w_{number} = {self.expression(one)};")
        for number, one in enumerate(call.arguments):
            if number and whole:
                self.put('mpd_write_string(" ");')
            self.put(f"mpd_write_{one.type}(w_{number});")
        if whole:
            self.put('mpd_write_string("\\n");')
        self.close()

    def quantified(self, quantifiers: Sequence[tree.Quantifier], body: Callable[[], None]):
        """Loops that overflow nowhere: a quantifier may end at the last integer."""
        if not quantifiers:
            body()
            return
        one, *more = quantifiers
        assert one.symbol
        number, name = self.fresh(), one.symbol.code
        self.open()
        self.put(f"mpd_int {name} = {self.expression(one.first)};")
        self.put(f"mpd_int last_{number} = {self.expression(one.last)};")
        self.put(f"mpd_int by_{number} = {self.expression(one.step) if one.step else 1};")
        if one.step:
            self.put(f"if (by_{number} <= 0)")
            self.put(f'    mpd_error({self.place(one.step.at)}, "a quantifier\'s step is not positive");')
        self.open(f"if ({name} {'>=' if one.down else '<='} last_{number})")
        self.open(f"for (;; {name} {'-' if one.down else '+'}= by_{number})")
        if one.such_that:
            self.open(f"if ({self.expression(one.such_that)})")
        self.quantified(more, body)
        if one.such_that:
            self.close()
        first, second = (name, f"last_{number}") if one.down else (f"last_{number}", name)
        self.put(f"if ((uint32_t){first} - (uint32_t){second} < (uint32_t)by_{number})")
        self.put("    break;")
        self.close()
        self.close()
        self.close()

    def block(self, call: tree.Call) -> str:
        """An invocation's block in `b`, with its arguments."""
        assert call.symbol and call.symbol.op
        op, code = call.symbol.op, call.symbol.code
        given = [self.argument(*pair) for pair in zip(call.arguments, op.parameters, strict=True)]
        for number, value in enumerate(given):
            self.put(f"__auto_type a_{number} = {value};")
        self.new_block(op, code, call.at)
        for number in range(len(given)):
            self.put(f"b->a_{number} = a_{number};")
        return "b"

    def new_block(self, op: tree.Operation, code: str, at: Position):
        self.put(f"struct b_{code} *b = mpd_block(sizeof *b, t_{code}, {c_string(op.name.text)}, {self.place(at)});")
        self.put("b->self = self;")

    def co(self, one: tree.Co):
        self.open()
        self.put("struct mpd_co co;")
        self.put("mpd_co_start(&co);")
        for number, arm in enumerate(one.arms):
            def body(arm=arm, number=number):
                self.open()
                self.put(f"mpd_co_call(&co, {number}, {self.block(arm.call)}, {self.place(arm.call.at)});")
                self.close()
            self.quantified(arm.quantifiers, body)
        self.put("struct mpd_invocation *ended;")
        self.open(f"while ((ended = mpd_co_wait(&co, {self.place(one.at)})))")
        for number, arm in enumerate(one.arms):
            if arm.symbol and arm.call.symbol:
                self.put(f"if (ended->arm == {number})")
                self.put(f"    {arm.symbol.code} = ((struct b_{arm.call.symbol.code} *)ended)->result;")
        self.put("mpd_free_block(ended);")
        self.close()
        self.close()

    def create(self, one: tree.Create):
        assert one.resource
        name = one.resource.name.text
        self.open()
        for number, argument in enumerate(one.arguments):
            self.put(f"__auto_type a_{number} = {self.expression(argument)};")
        self.put(f"struct b_{name} *b = mpd_block(sizeof *b, t_{name}, "
                 f"{c_string(name)}, {self.place(one.at)});")
        self.put(f"b->self = mpd_allocate(sizeof(struct r_{name}));")
        for number, parameter in enumerate(one.resource.parameters):
            assert parameter.symbol
            self.put(f"b->{parameter.symbol.code} = a_{number};")
        self.put(f"mpd_call(b, {self.place(one.at)});")
        self.put("mpd_free_block(b);")
        self.close()

    # Resources

    @staticmethod
    def parameters(op: tree.Operation) -> list[tuple[str, str]]:
        """Type and name in C of each."""
        of_quantifiers = [("mpd_int", one.symbol.code if one.symbol else "") for one in op.quantifiers]
        made = []
        for number, one in enumerate(op.parameters):
            name = one.symbol.code.strip("(*)") if one.symbol else f"a_{number}"
            made.append((c_type(one.type) + (" *" if one.mode == "ref" else ""), name))
        return of_quantifiers + made

    def head(self, resource: tree.Resource, op: tree.Operation, code: str) -> str:
        named = [f"{of} {name}" for of, name in self.parameters(op)]
        result = c_type(op.result.type if op.result else None)
        if op.external:
            return f"{result} {code}({', '.join(named) or 'void'})"
        return f"static {UNUSED}{result} {code}({', '.join([f'{UNUSED}struct r_{resource.name.text} *self', *named])})"

    def code_of(self, resource: tree.Resource, op: tree.Operation) -> str:
        return op.name.text if op.external else f"p_{resource.name.text}_{op.name.text}"

    def declarations(self, resource: tree.Resource):
        name = resource.name.text
        self.open(f"struct r_{name}")
        self.put("char one;")      # C wants a member
        for symbol in resource.fields:
            of = "struct mpd_sem" if symbol.kind == "sem" else c_type(symbol.type)
            self.put(f"{of} {symbol.code.removeprefix('self->')};")
        self.close(";")
        self.open(f"struct b_{name}")
        self.put("struct mpd_invocation base;")
        self.put(f"struct r_{name} *self;")
        self.close(";")
        self.put(f"static {UNUSED}void t_{name}(void *block);")
        for op in resource.operations:
            code = self.code_of(resource, op)
            self.put(f"{self.head(resource, op, code)};")
            if op.external:
                continue
            self.open(f"struct b_{code}")
            self.put("struct mpd_invocation base;")
            self.put(f"struct r_{name} *self;")
            for number, (of, _) in enumerate(self.parameters(op)):
                self.put(f"{of} a_{number};")
            if op.result:
                self.put(f"{c_type(op.result.type)} result;")
            self.close(";")
            self.put(f"static {UNUSED}void t_{code}(void *block);")
        self.put("")

    def operation(self, resource: tree.Resource, op: tree.Operation):
        code = self.code_of(resource, op)
        self.open(self.head(resource, op, code))
        self.put(f"mpd_enter({self.place(op.at)});")
        self.returns = "return;"
        if op.result and op.result.symbol:
            self.put(f"{c_type(op.result.type)} {op.result.symbol.code} = {ZERO[op.result.type or 'int']};")
            self.returns = f"return {op.result.symbol.code};"
        assert op.body
        self.statement(op.body)
        self.put(self.returns)
        self.close()
        self.open(f"static void t_{code}(void *block)")
        self.put(f"struct b_{code} *b = block;")
        given = ", ".join(["b->self", *(f"b->a_{number}" for number in range(len(self.parameters(op))))])
        self.put(f"{'b->result = ' if op.result else ''}{code}({given});")
        self.close()
        self.put("")

    def code(self, resource: tree.Resource):
        name = resource.name.text
        for op in resource.operations:
            if op.body:
                self.operation(resource, op)
        self.returns = "return;"
        self.open(f"static {UNUSED}void i_{name}({UNUSED}struct r_{name} *self)")
        self.put(f"mpd_enter({self.place(resource.name.at)});")
        for item in resource.items:
            if isinstance(item, tree.Operation) and item.is_process:
                self.start(resource, item)
            elif not isinstance(item, tree.Operation | tree.Proc | tree.Final | tree.Import):
                self.statement(item)
        self.close()
        self.open(f"static void t_{name}(void *block)")
        self.put(f"struct b_{name} *b = block;")
        self.put(f"i_{name}(b->self);")
        self.close()
        if resource.final:
            self.open(f"static {UNUSED}void f_{name}({UNUSED}struct r_{name} *self)")
            self.put(f"mpd_enter({self.place(resource.final.at)});")
            self.statement(resource.final.body)
            self.close()
        self.put("")

    def start(self, resource: tree.Resource, process: tree.Operation):
        """A process begins where it is declared: by an invocation for each value of its quantifiers."""
        def body():
            self.open()
            self.new_block(process, self.code_of(resource, process), process.name.at)
            for number, quantifier in enumerate(process.quantifiers):
                assert quantifier.symbol
                self.put(f"b->a_{number} = {quantifier.symbol.code};")
            self.put(f"mpd_send(b, {self.place(process.name.at)});")
            self.close()
        self.quantified(process.quantifiers, body)

    def program(self, resources: Sequence[tree.Resource], main: tree.Resource) -> str:
        name = main.name.text
        self.put("/* Made by Interlock's MPD compiler; do not edit. */")
        self.put('#include "mpd.h"')
        self.put("")
        for resource in resources:
            self.declarations(resource)
        for resource in resources:
            self.code(resource)
        self.put(f"static struct r_{name} *the_main;")
        self.put(f"const char *const mpd_main_name = {c_string(name)};")
        self.open("void mpd_main_initial(void)")
        self.put("the_main = mpd_allocate(sizeof *the_main);")
        self.put(f"i_{name}(the_main);")
        self.close()
        if main.final:
            self.open("static void final(void)")
            self.put(f"f_{name}(the_main);")
            self.close()
        self.put(f"void (*const mpd_main_final)(void) = {'final' if main.final else '0'};")
        return "\n".join(self.lines) + "\n"


def emit(resources: Sequence[tree.Resource], main: tree.Resource, file: str) -> str:
    return Emitter(file).program(resources, main)
