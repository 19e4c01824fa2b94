"""What a program means: names find their symbols, expressions their types, and what does not fit is a mistake."""

from collections.abc import Sequence

from user.mpd.compiler import tree
from user.mpd.compiler.syntax import CompileError, Mistake
from user.mpd.compiler.tree import Name, Position, Symbol

WRITES = ("write", "writes")
LOGICAL = {"and", "&&", "or", "||", "xor"}
ORDER = {"<", "<=", ">", ">="}
SAME = {"==", "!="}


class Scope:
    def __init__(self, outer: "Scope | None" = None):
        self.outer = outer
        self.names: dict[str, Symbol] = {}

    def find(self, name: str) -> Symbol | None:
        scope: Scope | None = self
        while scope:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


class Checker:
    def __init__(self, resources: Sequence[tree.Resource]):
        self.resources = resources
        self.mistakes: list[Mistake] = []
        self.by_name: dict[str, tree.Resource] = {}
        self.scope = Scope()
        self.loops = 0
        self.locals = 0
        self.imported: set[str] = set()
        self.resource = resources[0]

    def wrong(self, at: Position, what: str):
        self.mistakes.append(Mistake(at, what))

    def run(self) -> tree.Resource:
        for resource in self.resources:
            if resource.name.text in self.by_name:
                self.wrong(resource.name.at, f"there are two resources '{resource.name.text}'")
            self.by_name.setdefault(resource.name.text, resource)
        for resource in self.resources:
            self.check_resource(resource)
        main = self.resources[-1]
        if main.parameters:
            self.wrong(main.parameters[0].name.at, f"'{main.name.text}' is the main resource, the last one of the "
                                                   "file: it has no parameters")
        if self.mistakes:
            raise CompileError(self.mistakes)
        return main

    # Declarations

    def declare(self, symbol: Symbol) -> Symbol:
        before = self.scope.names.get(symbol.name)
        if before:
            self.wrong(symbol.at, f"'{symbol.name}' is declared twice, first in line {before.at.line}")
        elif symbol.name in WRITES:
            self.wrong(symbol.at, f"'{symbol.name}' is a predefined function's name")
        else:
            self.scope.names[symbol.name] = symbol
        return symbol

    def local(self, name: Name, kind: str, of: str | None, why_constant: str = "", by_reference=False) -> Symbol:
        self.locals += 1
        code = f"v_{name.text}_{self.locals}"
        return self.declare(Symbol(name.text, kind, name.at, of, f"(*{code})" if by_reference else code, why_constant))

    def field(self, name: Name, kind: str, of: str | None, why_constant: str = "") -> Symbol:
        symbol = self.declare(Symbol(name.text, kind, name.at, of,
                                     f"self->{'s' if kind == 'sem' else 'v'}_{name.text}", why_constant))
        self.resource.fields.append(symbol)
        return symbol

    def check_resource(self, resource: tree.Resource):
        self.resource, self.scope, self.imported = resource, Scope(), set()
        for name in resource.names:
            if name.text != resource.name.text:
                self.wrong(name.at, f"'{name.text}' stands where '{resource.name.text}' should")
        for parameter in resource.parameters:
            if parameter.type is None:
                self.wrong(parameter.name.at, f"parameter '{parameter.name.text}' has no type")
            if parameter.mode != "val":
                self.wrong(parameter.name.at, "parameters of resources are passed by value")
            parameter.symbol = self.field(parameter.name, "variable", parameter.type)
        procs = []
        for item in resource.items:     # names of a resource may be used before their declaration
            for one in item.of if isinstance(item, tree.Several) else [item]:
                if isinstance(one, tree.Variable):
                    why = f"'{one.name.text}' is a constant" if one.constant else ""
                    one.symbol = self.field(one.name, "constant" if one.constant else "variable", one.of, why)
                    if one.constant and one.of is None and isinstance(one.value, tree.Literal):
                        one.symbol.type = self.type_of(one.value)
                elif isinstance(one, tree.Sem):
                    one.symbol = self.field(one.name, "sem", None)
                elif isinstance(one, tree.Operation):
                    code = one.name.text if one.external else f"p_{resource.name.text}_{one.name.text}"
                    symbol = Symbol(one.name.text, "op", one.name.at,
                                    one.result.type if one.result else None, code, op=one)
                    if self.declare(symbol):
                        resource.operations.append(one)
                elif isinstance(one, tree.Proc):
                    procs.append(one)
                elif isinstance(one, tree.Final):
                    if resource.final:
                        self.wrong(one.at, "there are two final codes")
                    resource.final = one
                elif isinstance(one, tree.Import):
                    for name in one.names:
                        if name.text not in self.by_name:
                            self.wrong(name.at, f"there is no resource '{name.text}' in this file")
                        self.imported.add(name.text)
        for proc in procs:
            self.join(proc)
        for op in resource.operations:
            if op.body is None and not op.external:
                self.wrong(op.name.at, f"no proc implements '{op.name.text}' (input statements cannot be compiled yet)")
            self.check_types_of(op)
        for item in resource.items:     # the initial code
            if not isinstance(item, tree.Proc | tree.Final | tree.Import):
                if isinstance(item, tree.Operation):
                    self.inner(lambda item=item: self.quantified(item.quantifiers, lambda: None))
                else:
                    self.statement(item, fields=True)
        for op in resource.operations:
            if op.body:
                self.inner(lambda op=op: self.check_code(op))
        if resource.final:
            self.inner(lambda: self.statement(resource.final.body))

    def join(self, proc: tree.Proc):
        """A proc's code goes to its op, whose parameters get the names that the code has for them."""
        symbol = self.scope.find(proc.name.text)
        if symbol is None or symbol.op is None or symbol.op.external:
            self.wrong(proc.name.at, f"there is no op '{proc.name.text}' for this proc")
            return
        op = symbol.op
        if op.body:
            self.wrong(proc.name.at, f"'{op.name.text}' has its code already")
            return
        if len(proc.names) != len(op.parameters):
            self.wrong(proc.name.at, f"'{op.name.text}' has {len(op.parameters)} parameters, not {len(proc.names)}")
        if bool(proc.result) != bool(op.result):
            self.wrong(proc.name.at, f"'{op.name.text}' returns {'a result' if op.result else 'nothing'}")
        for parameter, name in zip(op.parameters, proc.names, strict=False):
            parameter.name = name
        if op.result and proc.result:
            op.result.name = proc.result
        op.body = proc.body

    def check_types_of(self, op: tree.Operation):
        for parameter in [*op.parameters, *([op.result] if op.result else [])]:
            if parameter.type is None:
                self.wrong(parameter.name.at, f"parameter '{parameter.name.text}' has no type")
            if parameter.type == "string" and parameter.mode != "val":
                self.wrong(parameter.name.at, "variables of type string cannot be compiled yet")

    def check_code(self, op: tree.Operation):
        for quantifier in op.quantifiers:
            quantifier.symbol = self.local(quantifier.name, "variable", "int", self.of_quantifier(quantifier))
        for parameter in op.parameters:
            parameter.symbol = self.local(parameter.name, "variable", parameter.type,
                                          by_reference=parameter.mode == "ref")
        if op.result:
            op.result.symbol = self.local(op.result.name, "variable", op.result.type)
        assert op.body
        self.statement(op.body)

    @staticmethod
    def of_quantifier(quantifier: tree.Quantifier) -> str:
        return f"'{quantifier.name.text}' is a quantifier's variable"

    def inner(self, then):
        """Checks in a scope and outside of the loops around."""
        scope, loops = self.scope, self.loops
        self.scope, self.loops = Scope(scope), 0
        then()
        self.scope, self.loops = scope, loops

    # Statements

    def statement(self, one: tree.Statement, fields: bool = False):
        match one:
            case tree.Several():
                for each in one.of:
                    self.statement(each, fields)
            case tree.Variable():
                self.variable(one, fields)
            case tree.Sem():
                if one.value:
                    self.expect(one.value, "int", "a semaphore's first value")
                if not fields:
                    self.wrong(one.at, "semaphores within blocks cannot be compiled yet")
            case tree.Assign():
                one.symbol = self.assignable(one.to)
                of = self.type_of(one.value)
                if one.symbol and one.symbol.type and of and (one.symbol.type != of or one.operator and of != "int"):
                    self.wrong(one.at, f"{of} cannot be assigned to '{one.to.text}', which is {one.symbol.type}"
                               if one.symbol.type != of else f"{of} has no operator '{one.operator}'")
            case tree.Swap():
                one.symbols = [self.assignable(name) for name in one.names]
                types = {symbol.type for symbol in one.symbols if symbol}
                if len(types) > 1:
                    self.wrong(one.at, "what is swapped is of two types")
            case tree.Invoke():
                if one.call.name.text in WRITES and not self.scope.find(one.call.name.text):
                    for argument in one.call.arguments:
                        self.type_of(argument)
                    if one.how == "send":
                        self.wrong(one.at, f"'{one.call.name.text}' is a predefined function, it cannot be sent to")
                else:
                    self.invocation(one.call, apart=one.how == "send")
                    op = one.call.symbol.op if one.call.symbol else None
                    if one.how == "send" and op and any(parameter.mode == "ref" for parameter in op.parameters):
                        self.wrong(one.call.at, f"'{op.name.text}' has parameters by reference: "
                                                "send would leave them without their variables")
            case tree.Create():
                self.create(one)
            case tree.Semaphore():
                one.symbol = self.find(one.name)
                if one.symbol and one.symbol.kind != "sem":
                    self.wrong(one.name.at, f"'{one.name.text}' is no semaphore")
                    one.symbol = None
            case tree.If():
                self.expect(one.condition, "bool", "a condition")
                self.statement(one.then)
                if one.otherwise:
                    self.statement(one.otherwise)
            case tree.While():
                self.expect(one.condition, "bool", "a condition")
                self.loop(one.body)
            case tree.For():
                scope = self.scope
                self.scope = Scope(scope)
                self.quantified(one.quantifiers, lambda: self.loop(one.body))
                self.scope = scope
            case tree.Co():
                for arm in one.arms:
                    scope = self.scope
                    self.scope = Scope(scope)
                    self.quantified(arm.quantifiers, lambda arm=arm: self.arm(arm))
                    self.scope = scope
            case tree.Jump():
                if one.how != "return" and not self.loops:
                    self.wrong(one.at, f"'{one.how}' stands in no loop")
            case tree.Block():
                scope = self.scope
                self.scope = Scope(scope)
                for each in one.body:
                    self.statement(each)
                self.scope = scope

    def loop(self, body: tree.Statement):
        self.loops += 1
        self.statement(body)
        self.loops -= 1

    def variable(self, one: tree.Variable, fields: bool):
        of = self.type_of(one.value) if one.value else None
        if one.constant and one.value is None:
            self.wrong(one.at, f"constant '{one.name.text}' has no value")
        if not one.constant and one.of == "string":
            self.wrong(one.at, "variables of type string cannot be compiled yet")
        if one.of and of and one.of != of:
            self.wrong(one.at, f"{of} cannot be assigned to '{one.name.text}', which is {one.of}")
        if not fields:
            one.symbol = self.local(one.name, "constant" if one.constant else "variable", one.of,
                                    f"'{one.name.text}' is a constant" if one.constant else "")
        assert one.symbol
        if one.symbol.type is None:
            one.symbol.type = of

    def create(self, one: tree.Create):
        one.resource = self.by_name.get(one.name.text)
        if one.resource is None:
            self.wrong(one.name.at, f"there is no resource '{one.name.text}' in this file")
        elif one.name.text not in self.imported and one.resource is not self.resource:
            self.wrong(one.name.at, f"resource '{one.name.text}' is not imported")
        self.check_arguments(one.name, one.arguments, one.resource.parameters if one.resource else None)

    def quantified(self, quantifiers: Sequence[tree.Quantifier], then):
        for one in quantifiers:
            self.expect(one.first, "int", "a quantifier's bound")
            self.expect(one.last, "int", "a quantifier's bound")
            if one.step:
                self.expect(one.step, "int", "a quantifier's step")
            one.symbol = self.local(one.name, "variable", "int", self.of_quantifier(one))
            if one.such_that:
                self.expect(one.such_that, "bool", "a condition")
        then()

    def arm(self, arm: tree.Arm):
        of = self.invocation(arm.call, apart=True)
        if arm.to:
            arm.symbol = self.assignable(arm.to)
            op = arm.call.symbol.op if arm.call.symbol else None
            if op and not op.result:
                self.wrong(arm.call.at, f"'{op.name.text}' returns nothing")
            elif arm.symbol and arm.symbol.type and of and arm.symbol.type != of:
                self.wrong(arm.to.at, f"{of} cannot be assigned to '{arm.to.text}', which is {arm.symbol.type}")

    # Names and expressions

    def find(self, name: Name) -> Symbol | None:
        symbol = self.scope.find(name.text)
        if symbol is None:
            self.wrong(name.at, f"'{name.text}' is not declared")
        return symbol

    def assignable(self, name: Name) -> Symbol | None:
        symbol = self.find(name)
        if symbol and (symbol.kind != "variable" or symbol.why_constant):
            self.wrong(name.at, f"{symbol.why_constant or repr(name.text) + ' is no variable'}: "
                                "it cannot be assigned to")
            return None
        return symbol

    def expect(self, expression: tree.Expression, of: str, what: str):
        found = self.type_of(expression)
        if found and found != of:
            self.wrong(expression.at, f"{what} is {of}, not {found}")

    def invocation(self, call: tree.Call, apart: bool) -> str | None:
        """The type of what is returned; `apart`: in a process of its own."""
        symbol = self.find(call.name)
        if symbol and symbol.op is None:
            self.wrong(call.name.at, f"'{call.name.text}' is no operation")
            symbol = None
        if symbol and symbol.op and symbol.op.is_process:
            self.wrong(call.name.at, f"'{call.name.text}' is a process, it cannot be invoked")
            symbol = None
        if symbol and symbol.op and symbol.op.external and apart:
            self.wrong(call.name.at, f"'{call.name.text}' is external, it can only be called")
        call.symbol = symbol
        self.check_arguments(call.name, call.arguments, symbol.op.parameters if symbol and symbol.op else None)
        return symbol.type if symbol else None

    def check_arguments(self, name: Name, arguments: Sequence[tree.Expression],
                        parameters: Sequence[tree.Parameter] | None):
        types = [self.type_of(argument) for argument in arguments]
        if parameters is None:
            return
        if len(arguments) != len(parameters):
            self.wrong(name.at, f"'{name.text}' takes {len(parameters)} arguments, not {len(arguments)}")
        for argument, of, parameter in zip(arguments, types, parameters, strict=False):
            if of and parameter.type and of != parameter.type:
                self.wrong(argument.at, f"parameter '{parameter.name.text}' is {parameter.type}, not {of}")
            if parameter.mode == "ref":
                if not isinstance(argument, tree.Use):
                    self.wrong(argument.at, f"parameter '{parameter.name.text}' is by reference: it wants a variable")
                elif argument.symbol:
                    self.assignable(argument.name)

    def type_of(self, one: tree.Expression) -> str | None:
        one.type = self.find_type(one)
        return one.type

    def find_type(self, one: tree.Expression) -> str | None:
        match one:
            case tree.Literal():
                return {bool: "bool", int: "int", str: "string"}[type(one.value)]
            case tree.Use():
                one.symbol = self.find(one.name)
                if one.symbol and one.symbol.kind not in ("variable", "constant"):
                    self.wrong(one.at, f"'{one.name.text}' has no value")
                    one.symbol = None
                return one.symbol.type if one.symbol else None
            case tree.Call():
                if one.name.text in WRITES and not self.scope.find(one.name.text):
                    self.wrong(one.at, f"'{one.name.text}' returns nothing")
                    return None
                of = self.invocation(one, apart=False)
                if one.symbol and one.symbol.op and not one.symbol.op.result:
                    self.wrong(one.at, f"'{one.name.text}' returns nothing")
                return of
            case tree.Unary():
                wanted = "int" if one.operator in "+-" else "bool"
                self.expect(one.operand, wanted, f"the operand of '{one.operator}'")
                return wanted
            case tree.Binary():
                return self.binary(one)
        raise AssertionError(one)

    def binary(self, one: tree.Binary) -> str:
        what = f"an operand of '{one.operator}'"
        if one.operator in SAME:
            left, right = self.type_of(one.left), self.type_of(one.right)
            if "string" in (left, right):
                self.wrong(one.at, "strings cannot be compared yet")
            elif left and right and left != right:
                self.wrong(one.at, f"{left} and {right} cannot be compared")
            return "bool"
        wanted = "bool" if one.operator in LOGICAL else "int"
        self.expect(one.left, wanted, what)
        self.expect(one.right, wanted, what)
        return "bool" if one.operator in LOGICAL | ORDER else "int"


def check(resources: Sequence[tree.Resource]) -> tree.Resource:
    """Fills the tree in; the main resource. CompileError with all mistakes that there are."""
    return Checker(resources).run()
