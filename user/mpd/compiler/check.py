"""What a program means: names find their symbols, expressions their types, and what does not fit is a mistake."""

from collections.abc import Callable, Sequence
from functools import partial

from user.mpd.compiler import predefined, tree
from user.mpd.compiler.predefined import CONSTANTS, FUNCTIONS, NOT_YET
from user.mpd.compiler.syntax import CompileError, Mistake
from user.mpd.compiler.tree import Name, Op, Position, Resource, Symbol
from user.mpd.compiler.types import (
    ANY,
    BOOL,
    CHAR,
    DIMENSIONS,
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
    assignable,
    discrete,
    ordered,
    same,
    same_signature,
)

BASIC: dict[str, Type] = {"int": INT, "bool": BOOL, "char": CHAR, "real": REAL, "file": FILE}
ARITHMETIC = {"+", "-", "*", "/", "%", "mod", "**"}
BITS = {"and", "or", "xor", "&", "|"}
SHIFTS = {"<<", ">>"}
ORDER = {"<", "<=", ">", ">="}
SAME = {"==", "!=", "~="}
CO_QUANTIFIERS = 4      # of an arm: MPD_CO_VALUES of run-time/mpd.h
LONGEST = 65535         # string


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


# `vm` is as a resource without operations.
VM = Resource(Name("vm", Position(1, 1)), "resource", [], [], None)


def _predefined() -> Scope:
    scope = Scope()
    nowhere = Position(1, 1)
    scope.names["vm"] = Symbol("vm", "resource", nowhere, resource=VM)
    for name in FUNCTIONS:
        scope.names[name] = Symbol(name, "function", nowhere)
    for name, (of, code, value) in CONSTANTS.items():
        scope.names[name] = Symbol(name, "constant", nowhere, of, code, f"'{name}' is predefined", value=value)
    return scope


class Checker:
    def __init__(self, components: Sequence[Resource]):
        self.components = components
        self.mistakes: list[Mistake] = []
        self.by_name: dict[str, Resource] = {}
        self.specs: dict[Resource, Scope] = {}      # what each exports
        self.predefined = _predefined()
        self.scope = self.predefined
        self.records: list[Record] = []
        self.loops: list[str] = []      # what is around: loop, in, co
        self.implementing: list[Op | None] = []     # what forward and reply are about
        self.locals = 0
        self.resource: Resource
        self.in_spec = False
        self.arms = 0
        self.main: Resource | None = None
        self.in_code = False            # of a procedure, or in a block: declarations are local
        self.uses_vm = False
        self.later: dict[str, tuple[tree.TypeDeclaration, Record]] = {}     # records of the items around

    def wrong(self, at: Position, what: str):
        self.mistakes.append(Mistake(at, what))

    def run(self) -> Resource:
        for one in self.components:
            self.by_name.setdefault(one.name.text, one)
        self.main = next((one for one in reversed(self.components) if one.kind == "resource"), None)
        self.check_components()
        for one in self.components:
            self.resource = one
            self.specs[one] = self.scope = Scope(Scope(self.predefined))
            self.specification(one)
        bodies = []
        for one in self.components:
            if one.body is not None:
                self.resource = one
                bodies.append((one, self.collect(one)))
        for one, scope in bodies:
            self.resource, self.scope = one, scope
            self.initial_code(one)
        for one, scope in bodies:
            self.resource, self.scope = one, scope
            self.code(one)
        for one in self.components:
            self.implementations(one)
        main = self.main
        if main is None:
            self.wrong(self.components[-1].name.at, "there is no resource: no program is made of globals alone")
        elif main.parameters:
            self.wrong(main.parameters[0].at, f"'{main.name.text}' is the main resource, the last one of the "
                                              "file: it has no parameters")
        elif main.body is None:
            self.wrong(main.name.at, f"the main resource '{main.name.text}' has no body")
        if self.mistakes:
            raise CompileError(self.mistakes)
        assert main
        return main

    # Components

    def check_components(self):
        seen: dict[str, Resource] = {}
        for one in self.components:
            for name in one.end:
                if name.text != one.name.text:
                    self.wrong(name.at, f"'{name.text}' stands where '{one.name.text}' should")
            if one.name.text in seen:
                self.wrong(one.name.at, f"there are two resources '{one.name.text}'")
            seen.setdefault(one.name.text, one)

    def specification(self, one: Resource):
        self.in_spec = True
        self.later = self.records_of(one.spec)
        assert self.scope.outer
        self.scope.outer.names[one.name.text] = Symbol(one.name.text, one.kind, one.name.at, resource=one)
        for item in one.spec:
            self.specify(one, item)
        if one.kind == "resource":
            self.resource_parameters(one)
        self.in_spec = False

    def specify(self, one: Resource, item: tree.Statement):
        match item:
            case tree.Several():
                for each in item.of:
                    self.specify(one, each)
            case tree.Import():
                self.import_(one, item)
            case tree.Extend():
                self.extend(one, item)
            case tree.TypeDeclaration() | tree.OpType() | tree.OpDeclaration() | tree.Sem() | tree.Variable():
                if isinstance(item, tree.Variable) and not item.constant and one.kind == "resource":
                    self.wrong(item.at, "a variable stands in a resource's specification: it belongs to the body")
                self.declare_item(item)
            case _:
                self.wrong(item.at, "this is not allowed in a specification")

    def extend(self, one: Resource, item: tree.Extend):
        for name in item.names:
            other = self.by_name.get(name.text)
            if other is None or other not in self.specs or other is one:
                self.wrong(name.at, f"there is no resource '{name.text}' to extend before this")
                continue
            if one.kind == "global" or other.kind == "global":
                self.wrong(name.at, "extend is for resources")
                continue
            if one.exports and one.extended:
                self.wrong(name.at, "a resource extends one other")
            elif one.exports:
                self.wrong(name.at, "extend stands before the resource's own operations")
            one.extended.append(other)
            for each, symbol in self.specs[other].names.items():
                if symbol.op:
                    op = Op(Name(symbol.name, name.at), symbol.op.signature, one, symbol.op.dims, exported=True,
                            is_sem=symbol.op.is_sem, no_semaphore="it is exported", export=len(one.exports))
                    one.exports.append(op)
                    one.ops.append(op)
                    symbol = Symbol(symbol.name, "op", name.at, symbol.type, op=op)
                if each in self.scope.names:
                    self.wrong(name.at, f"'{each}' is declared twice, the second time by '{name.text}'")
                self.scope.names[each] = symbol

    def import_(self, one: Resource, item: tree.Import):
        """Names of what is imported are found behind the component's own."""
        imports = self.scope.outer
        assert imports
        for name in item.names:
            other = self.by_name.get(name.text)
            if other is None:
                self.wrong(name.at, f"there is no resource '{name.text}' in this file, and no file {name.text}.mpd")
            elif other is one:
                self.wrong(name.at, f"'{name.text}' imports itself")
            else:
                if other is self.main:
                    self.wrong(name.at, f"'{name.text}' is the main resource, the last one: it cannot be imported")
                if other not in one.imported:
                    one.imported.append(other)
                self.see(imports, other, name.at)

    def see(self, imports: Scope, other: Resource, at: Position):
        imports.names[other.name.text] = Symbol(other.name.text, other.kind, at, resource=other)
        if other in self.specs:
            for each, symbol in self.specs[other].names.items():
                if symbol.kind != "op" or other.kind == "global":
                    imports.names.setdefault(each, symbol)

    def resource_parameters(self, one: Resource):
        for parameter in one.parameters:
            of = self.resolve_with(parameter.of, parameter.dims)
            if parameter.mode != "val":
                self.wrong(parameter.at, "parameters of resources are passed by value")
            name = parameter.name or Name("", parameter.at)
            if parameter.name is None:
                self.wrong(parameter.at, "this parameter has no name, or no type")
            if isinstance(of, Array) and not of.known:
                of = Array([Dimension(None, None, dim.of) if not dim.known else dim for dim in of.dims], of.of)
            one.parameter_symbols.append(Symbol(name.text, "variable", name.at, of, self.owner(one) + f"v_{name.text}"))

    @staticmethod
    def owner(one: Resource) -> str:
        return "self->" if one.kind == "resource" else f"g_{one.name.text}."

    def collect(self, one: Resource) -> Scope:
        """The names of a component's body, which may be used before their declaration."""
        imports = Scope(self.predefined)
        self.scope = Scope(imports)
        self.scope.names.update(self.specs[one].names)
        for other in one.imported:      # those of the specification hold in the body, too
            self.see(imports, other, one.name.at)
        imports.names.setdefault(one.name.text, Symbol(one.name.text, one.kind, one.name.at, resource=one))
        for symbol in one.parameter_symbols:
            self.declare(symbol)
            one.fields.append(symbol)
        assert one.body is not None
        self.later = self.records_of(one.body)
        for item in one.body:
            for each in item.of if isinstance(item, tree.Several) else [item]:
                match each:
                    case tree.Import():
                        self.import_(one, each)
                    case tree.Extend():
                        self.wrong(each.at, "extend belongs to the specification")
                    case tree.Proc():
                        self.collect_proc(one, each)
                    case tree.Final():
                        if one.final:
                            self.wrong(each.at, "there are two final codes")
                        one.final = each
                    case tree.Variable() | tree.Sem() | tree.OpDeclaration() | tree.External() | \
                            tree.TypeDeclaration() | tree.OpType():
                        self.declare_item(each)
        return self.scope

    def collect_proc(self, one: Resource, proc: tree.Proc):
        one.procs.append(proc)
        if proc.is_process:
            op = Op(proc.name, Signature([Formal(each.name.text, "val", INT) for each in proc.quantifiers], None), one,
                    implemented="proc", body=proc, no_semaphore="it is a process", is_process=True,
                    quantifiers=proc.quantifiers)
            proc.op = op
            self.declare(Symbol(proc.name.text, "op", proc.name.at, op.signature, op=op))
            one.ops.append(op)
        elif proc.signature:
            signature = self.signature(proc.signature)
            signature.restriction = ""
            op = Op(proc.name, signature, one, implemented="proc", body=proc, no_semaphore="it has a proc")
            proc.op = op
            self.declare(Symbol(proc.name.text, "op", proc.name.at, signature, op=op))
            one.ops.append(op)

    def initial_code(self, one: Resource):
        assert one.body is not None
        for proc in one.procs:
            if proc.op is None:
                self.join(one, proc)
        self.in_code = False
        self.implementing = [None]
        for item in [*one.spec, *one.body] if one.kind == "global" else one.body:
            if isinstance(item, tree.Proc):
                if item.is_process:
                    self.inner(partial(self.quantified, item.quantifiers, lambda: None))
            elif not isinstance(item, tree.Final | tree.Import | tree.Extend):
                self.statement(item, fields=True)
        if one.kind == "resource":
            for item in one.spec:       # constants and semaphores of the specification get their values, too
                if isinstance(item, tree.Several):
                    self.statement(item, fields=True)

    def join(self, one: Resource, proc: tree.Proc):
        """A proc's code goes to its op."""
        symbol = self.scope.names.get(proc.name.text)
        if symbol is None or symbol.op is None or symbol.op.resource is not one or symbol.op.is_process:
            self.wrong(proc.name.at, f"there is no op '{proc.name.text}' for this proc")
            return
        op = symbol.op
        if op.implemented:
            self.wrong(proc.name.at, f"'{op.name.text}' has its code already")
            return
        if op.dims:
            self.wrong(proc.name.at, f"'{op.name.text}' is an array of operations, which only input statements serve")
        if len(proc.names) != len(op.signature.formals):
            self.wrong(proc.name.at, f"'{op.name.text}' has {len(op.signature.formals)} parameters, not "
                                     f"{len(proc.names)}")
        if bool(proc.result) != (op.signature.result is not None):
            self.wrong(proc.name.at, f"'{op.name.text}' returns {'a result' if op.signature.result else 'nothing'}")
        op.implemented, op.body, op.no_semaphore, proc.op = "proc", proc, "it has a proc", op

    def code(self, one: Resource):
        for proc in one.procs:
            if proc.op:
                self.inner(partial(self.check_code, proc))
        if one.final:
            final = one.final
            self.implementing = [None]
            self.inner(lambda: self.block(final.body))

    def implementations(self, one: Resource):
        for op in one.ops:
            if not op.implemented and not (op.is_sem or op.exported or op.taken):
                self.wrong(op.name.at, f"nothing implements '{op.name.text}', no proc and no input statement")
            op.implemented = op.implemented or "in"

    def check_code(self, proc: tree.Proc):
        assert proc.op
        op = proc.op
        self.implementing = [op]
        self.in_code = True
        if proc.is_process:
            for quantifier, formal in zip(proc.quantifiers, op.signature.formals, strict=True):
                formal.type = quantifier.symbol.type if quantifier.symbol else INT
                proc.parameters.append(self.local(quantifier.name, "variable", formal.type,
                                                  self.of_quantifier(quantifier)))
        for name, formal in zip(proc.names, op.signature.formals, strict=False):
            why = ""
            if isinstance(formal.type, String) and formal.type.maximum is None and formal.mode == "val":
                why = f"'{name.text}' is a string of any length, by value"
            if not name.text:
                name = Name(f" {len(proc.parameters)}", name.at)
            symbol = self.local(name, "variable", formal.type, why)
            symbol.by_reference = formal.mode == "ref"
            proc.parameters.append(symbol)
        if op.signature.result and proc.result:
            name = proc.result if proc.result.text else Name(" result", proc.result.at)
            proc.result_symbol = self.local(name, "variable", op.signature.result)
        self.block(proc.body)

    # Declarations

    def declare(self, symbol: Symbol) -> Symbol:
        before = self.scope.names.get(symbol.name)
        if before:
            where = "" if before.at.file == symbol.at.file else f" of {before.at.file}"
            self.wrong(symbol.at, f"'{symbol.name}' is declared twice, first in line {before.at.line}{where}")
        else:
            self.scope.names[symbol.name] = symbol
        return symbol

    def local(self, name: Name, kind: str, of: Type | None, why_constant: str = "") -> Symbol:
        self.locals += 1
        clean = name.text.strip() if name.text[:1] != " " else ""
        return self.declare(Symbol(name.text, kind, name.at, of, f"v_{clean}_{self.locals}", why_constant))

    def field(self, name: Name, kind: str, of: Type | None, why_constant: str = "") -> Symbol:
        one = self.resource
        symbol = self.declare(Symbol(name.text, kind, name.at, of, f"{self.owner(one)}v_{name.text}", why_constant))
        one.fields.append(symbol)
        return symbol

    def variable_symbol(self, name: Name, kind: str, of: Type | None, why: str = "") -> Symbol:
        return self.local(name, kind, of, why) if self.in_code else self.field(name, kind, of, why)

    def declare_item(self, item: tree.Statement):
        """A declaration at the level of a component, or in a block: its name and type, not its value."""
        match item:
            case tree.TypeDeclaration():
                self.type_declaration(item)
            case tree.OpType():
                signature = self.signature(item.signature)
                self.declare(Symbol(item.name.text, "type", item.name.at, signature))
            case tree.Variable():
                self.declare_variable(item)
            case tree.Sem():
                dims = self.dims(item.dims)
                op = Op(item.name, Signature([], None, restriction="send"), self.resource, dims, is_sem=True)
                self.declare_op(item, op)
            case tree.OpDeclaration():
                signature = self.signature(item.signature) if item.signature else self.named_signature(item.of)
                op = Op(item.name, signature, self.resource, self.dims(item.dims))
                if signature.formals or signature.result:
                    op.no_semaphore = "it has parameters or a result"
                self.declare_op(item, op)
            case tree.External():
                signature = self.signature(item.signature)
                op = Op(item.name, signature, self.resource, implemented="external", no_semaphore="it is external")
                op.code = f"x_{self.resource.name.text}_{item.name.text}"
                item.symbol = self.declare(Symbol(item.name.text, "op", item.name.at, signature, op=op))
                self.resource.externals.append(op)

    def declare_op(self, item: tree.Sem | tree.OpDeclaration, op: Op):
        if op.dims and op.dims.starred:
            self.wrong(item.name.at, "a star is a bound of parameters only")
        if self.in_spec and self.resource.kind == "resource":
            op.exported, op.no_semaphore = True, "it is exported"
            op.export = len(self.resource.exports)
            self.resource.exports.append(op)
        if self.in_code:
            op.local = True
            op.no_semaphore = op.no_semaphore or ("" if op.is_sem else "it is declared in a block")
            self.locals += 1
            op.code = f"v_{op.name.text}_{self.locals}"
        else:
            self.resource.ops.append(op)
        of: Type = Array(op.dims.dims, op.signature) if op.dims else op.signature
        item.symbol = self.declare(Symbol(op.name.text, "op", op.name.at, of, op=op))

    def declare_variable(self, one: tree.Variable):
        of = self.resolve_with(one.of, one.dims) if one.of is not None else None
        kind, why = ("constant", f"'{one.name.text}' is a constant") if one.constant else ("variable", "")
        if one.constant and one.value is not None and (of is None or one.of is None):
            of = self.expr(one.value)
            if of == NULL:
                self.wrong(one.at, "null has no type of its own: the constant wants one")
            if isinstance(one.value, tree.Literal) and isinstance(of, String):
                of = String(len(str(one.value.value)))
        if isinstance(of, Signature):
            of = Capability(of)
        if isinstance(of, Array) and of.starred and not (one.constant and one.of is None):
            self.wrong(one.at, "a star is a bound of parameters only")
        if isinstance(of, String) and of.maximum is None:
            if one.constant and isinstance(one.value, tree.Literal):
                of = String(len(str(one.value.value)))
            else:
                self.wrong(one.at, f"'{one.name.text}' has no maximum length: string[n]")
        symbol = self.variable_symbol(one.name, kind, of, why)
        if one.constant and one.value is not None:
            symbol.value = self.constant_value(one.value)
            if self.in_spec and self.resource.kind == "resource":
                symbol.resource, symbol.source = self.resource, one.value
        one.symbol = symbol

    @staticmethod
    def records_of(items: Sequence[tree.Statement]) -> dict[str, tuple[tree.TypeDeclaration, Record]]:
        """Records that these declare: pointers may be to one that is declared later."""
        return {one.name.text: (one, Record(one.of.union, 0, name=one.name.text)) for one in items
                if isinstance(one, tree.TypeDeclaration) and isinstance(one.of, tree.RecordOf)}

    def type_declaration(self, one: tree.TypeDeclaration):
        symbol = Symbol(one.name.text, "type", one.name.at)
        if isinstance(one.of, tree.RecordOf):       # it may point to itself
            declaration, record = self.later.get(one.name.text, (None, None))
            if record is None or declaration is not one:
                record = Record(one.of.union, len(self.records) + 1, name=one.name.text)
            symbol.type = record
            self.declare(symbol)
            self.record_fields(record, one.of)
            return
        of = self.resolve(one.of)
        if isinstance(of, Enum) and not of.name:
            of.name = one.name.text
        if isinstance(of, Array) and of.starred:
            self.wrong(one.at, "a star is a bound of parameters only")
        symbol.type = of
        self.declare(symbol)

    # Types

    def resolve_with(self, source: tree.TypeSource | None, dims: list[tree.Bounds]) -> Type | None:
        of = self.resolve(source)
        made = self.dims(dims)
        if made is None or of is None:
            return of
        return self.array(made.dims, of, dims[0].at)

    def array(self, dims: list[Dimension], of: Type, at: Position) -> Type:
        if isinstance(of, Array):
            dims, of = [*dims, *of.dims], of.of
        if isinstance(of, String) and of.maximum is None:
            self.wrong(at, "strings in an array have a maximum length: string[n]")
        if len(dims) > DIMENSIONS:
            self.wrong(at, f"an array has at most {DIMENSIONS} dimensions")
            dims = dims[:DIMENSIONS]
        return Array(dims, of)

    def dims(self, bounds: list[tree.Bounds]) -> Array | None:
        """The bounds as an array of nothing in particular; None where there are none."""
        made = []
        for one in bounds:
            of: Type = INT
            types = []
            for side in (one.first, one.last):
                if side is not None:
                    found = self.expr(side)
                    if found is not None and not discrete(found):
                        self.wrong(side.at, f"a bound is int, char, bool or of an enumeration, not {found}")
                    elif found is not None:
                        types.append(found)
            if one.kind == "one":
                assert one.last
                if types and types[0] != INT:
                    self.wrong(one.at, f"a bound that stands alone is int, not {types[0]}")
                dimension = Dimension(tree.Literal(one.at, 1), one.last)
                dimension.first.type = INT      # type: ignore[union-attr]
            elif one.kind == "all":
                first = tree.Literal(one.at, 1)
                first.type = INT
                dimension = Dimension(first, None)
            else:
                if len(types) == 2 and not same(types[0], types[1]):
                    self.wrong(one.at, f"bounds of two types: {types[0]} and {types[1]}")
                of = types[0] if types else INT
                dimension = Dimension(one.first, one.last, of)
            if dimension.first and dimension.last:
                first_value = self.constant_value(dimension.first)
                last_value = self.constant_value(dimension.last)
                if first_value is not None and last_value is not None:
                    dimension.known = (first_value, last_value)
            made.append(dimension)
        return Array(made, INT) if made else None

    def resolve(self, source: tree.TypeSource | None) -> Type | None:
        match source:
            case None:
                return None
            case tree.TypeName():
                return String() if source.name == "string" else BASIC[source.name]
            case tree.Use() | tree.Field():
                symbol = self.symbol_of(source)
                if symbol is None:
                    return None
                if symbol.kind != "type":
                    self.wrong(source.at, f"'{symbol.name}' is no type")
                    return None
                return Capability(symbol.type) if isinstance(symbol.type, Signature) else symbol.type
            case tree.Index():
                return self.resolve_index(source)
            case tree.ArrayOf():
                return self.resolve_with(source.of, source.dims)
            case tree.EnumOf():
                return self.enumeration(source)
            case tree.RecordOf():
                record = Record(source.union, len(self.records) + 1)
                self.record_fields(record, source)
                return record
            case tree.PointerTo():
                if source.of is None:
                    return Pointer(ANY)
                if isinstance(source.of, tree.Use) and source.of.name.text in self.later and \
                        self.scope.find(source.of.name.text) is None:
                    return Pointer(self.later[source.of.name.text][1])
                to = self.resolve(source.of)
                if isinstance(to, Array) or isinstance(to, String) and to.maximum is None:
                    self.pointed(source.at, to)
                    return None
                return Pointer(to) if to else None
            case tree.CapabilityOf():
                return self.capability(source)
        self.wrong(source.at, "a type stands here")
        return None

    def pointed(self, at: Position, to: Type):
        what = "arrays" if isinstance(to, Array) else "strings of any length"
        self.wrong(at, f"pointers to {what} cannot be compiled yet")

    def resolve_index(self, source: tree.Index) -> Type | None:
        bounds = source.bounds
        of: Type | None
        if isinstance(source.of, tree.TypeName) and source.of.name == "string":
            first = bounds[0]
            if first.kind == "all":
                of = String()
            elif first.kind != "one" or first.last is None:
                self.wrong(first.at, "a string has one maximum length: string[n]")
                return None
            else:
                self.expect(first.last, INT, "a maximum length")
                value = self.constant_value(first.last)
                if value is None:
                    self.wrong(first.at, "a string's maximum length is a constant")
                elif not 0 <= value <= LONGEST:
                    self.wrong(first.at, f"a string's maximum length is at most {LONGEST}, not {value}")
                    value = None
                of = String(value if value is not None else 1)
            bounds = bounds[1:]
        else:
            of = self.resolve(source.of)
        if not bounds or of is None:
            return of
        made = self.dims(bounds)
        assert made
        return self.array(made.dims, of, source.at)

    def enumeration(self, source: tree.EnumOf) -> Enum:
        made = Enum([name.text for name in source.names])
        if not source.names:
            self.wrong(source.at, "an enumeration has at least one literal")
        for number, name in enumerate(source.names):
            self.declare(Symbol(name.text, "literal", name.at, made, str(number), f"'{name.text}' is a literal",
                                value=number))
        return made

    def record_fields(self, record: Record, source: tree.RecordOf):
        fields: list[tuple[str, Type]] = []
        names: set[str] = set()
        for one in source.fields:
            of = self.resolve_with(one.of, one.dims)
            if one.name is None:
                self.wrong(one.at, "this field has no name, or no type")
                continue
            if one.name.text in names:
                self.wrong(one.name.at, f"there are two fields '{one.name.text}'")
            names.add(one.name.text)
            if isinstance(of, Array) and not of.known:
                self.wrong(one.at, "the bounds of an array in a record are constants")
                of = None
            if isinstance(of, String) and of.maximum is None:
                self.wrong(one.at, "a string in a record has a maximum length: string[n]")
                of = None
            if of is record:
                self.wrong(one.at, "a record holds no record of its own type: a pointer to one does")
                of = None
            if of is not None:
                fields.append((one.name.text, of))
        record.fields = fields
        record.number = len(self.records) + 1
        self.records.append(record)

    def capability(self, source: tree.CapabilityOf) -> Type | None:
        if source.of is None:
            return Capability(Signature([], None, restriction="send"))
        if isinstance(source.of, tree.SignatureSource):
            return Capability(self.signature(source.of))
        symbol = self.symbol_of(source.of)
        if symbol is None:
            return None
        if symbol.kind == "resource":
            assert symbol.resource
            return ResourceCapability(symbol.resource)
        if symbol.kind == "op":
            assert symbol.op
            return Capability(symbol.op.signature)
        if symbol.kind == "type" and isinstance(symbol.type, Signature):
            return Capability(symbol.type)
        self.wrong(source.at, f"there is no capability of '{symbol.name}'")
        return None

    def named_signature(self, of: tree.Expression | None) -> Signature:
        symbol = self.symbol_of(of) if of else None
        if symbol and isinstance(symbol.type, Signature) and symbol.kind == "type":
            return symbol.type
        if symbol:
            self.wrong(of.at, f"'{symbol.name}' is no type of operations")     # type: ignore[union-attr]
        return Signature([], None)

    def signature(self, source: tree.SignatureSource) -> Signature:
        formals = []
        for one in source.parameters:
            of = self.resolve_with(one.of, one.dims)
            if isinstance(of, String) and of.maximum is None and one.mode in ("var", "res"):
                self.wrong(one.at, f"a string of any length is passed by value or by reference, not '{one.mode}'")
            formals.append(Formal(one.name.text if one.name else "", one.mode, of))
        result = None
        if source.result:
            result = self.resolve_with(source.result.of, source.result.dims)
            if isinstance(result, Array) and not result.known:
                self.wrong(source.result.at, "the bounds of an array that is returned are constants")
                result = None
            if isinstance(result, String) and result.maximum is None:
                self.wrong(source.result.at, "a string that is returned has a maximum length: string[n]")
                result = String(1)
            if result is None:
                result = INT
        name = source.result.name.text if source.result and source.result.name else ""
        return Signature(formals, result, name, source.restriction)

    # Constants

    def constant_value(self, e: tree.Expression | None) -> int | None:
        match e:
            case tree.Literal(value=bool()):
                return int(e.value)
            case tree.Literal(value=int()):
                return int(e.value)
            case tree.Literal(value=str(), is_char=True):
                return ord(str(e.value))
            case tree.Use() | tree.Field():
                return e.symbol.value if e.symbol else None
            case tree.Unary(operator="-" | "+"):
                value = self.constant_value(e.operand)
                return None if value is None else -value if e.operator == "-" else value
            case tree.Binary():
                left, right = self.constant_value(e.left), self.constant_value(e.right)
                if left is None or right is None or e.type != INT:
                    return None
                made = {"+": left + right, "-": left - right, "*": left * right}.get(e.operator)
                if e.operator == "/" and right:
                    made = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
                return made if made is not None and abs(made) < 2**31 else None
        return None

    # Statements

    @staticmethod
    def of_quantifier(quantifier: tree.Quantifier) -> str:
        return f"'{quantifier.name.text}' is a quantifier's variable"

    def inner(self, then: Callable[[], None]):
        """Checks in a scope and outside of the loops around."""
        scope, loops, in_code = self.scope, self.loops, self.in_code
        self.scope, self.loops, self.in_code = Scope(scope), [], True
        then()
        self.scope, self.loops, self.in_code = scope, loops, in_code

    def block(self, one: tree.Block):
        scope, in_code, later = self.scope, self.in_code, self.later
        self.scope, self.in_code, self.later = Scope(scope), True, self.records_of(one.body)
        for each in one.body:
            self.statement(each)
        self.scope, self.in_code, self.later = scope, in_code, later

    def statement(self, one: tree.Statement, fields: bool = False):
        match one:
            case tree.Several():
                for each in one.of:
                    self.statement(each, fields)
            case tree.Variable():
                self.variable(one, fields)
            case tree.Sem():
                self.sem(one, fields)
            case tree.OpDeclaration() | tree.TypeDeclaration() | tree.OpType():
                if not fields:
                    self.declare_item(one)
            case tree.External():
                if not fields:
                    self.wrong(one.at, "external stands outside of blocks")
            case tree.Proc():
                self.wrong(one.at, "procs, procedures and processes stand outside of blocks")
            case tree.Import() | tree.Extend() | tree.Final():
                self.wrong(one.at, "import, extend and final stand outside of blocks")
            case tree.Simple(what="reply"):
                self.reply(one)
            case tree.Stop():
                if one.value:
                    self.expect(one.value, INT, "an exit status")
            case tree.Evaluate():
                self.evaluate(one)
            case tree.Swap():
                left, right = self.variable_of(one.left), self.variable_of(one.right)
                if not same(left, right):
                    self.wrong(one.at, f"what is swapped is of two types: {left} and {right}")
            case tree.Invoke():
                self.invoke(one)
            case tree.Receive():
                self.receive(one)
            case tree.Destroy():
                of = self.expr(one.of)
                if of is not None and not isinstance(of, ResourceCapability | Capability) and of != NULL:
                    self.wrong(one.at, f"only what a capability is of can be destroyed, not {of}")
            case tree.Semaphore():
                self.semaphore(one)
            case tree.If():
                self.expect(one.condition, BOOL, "a condition")
                self.statement(one.then)
                if one.otherwise:
                    self.statement(one.otherwise)
            case tree.While():
                self.expect(one.condition, BOOL, "a condition")
                self.loop(one.body)
            case tree.For():
                scope, in_code = self.scope, self.in_code
                self.scope, self.in_code = Scope(scope), True
                self.quantified(one.quantifiers, lambda: self.loop(one.body))
                self.scope, self.in_code = scope, in_code
            case tree.Co():
                self.co(one)
            case tree.In():
                self.input(one)
            case tree.Jump():
                if one.how != "return" and not any(kind in ("loop", "co") for kind in self.loops):
                    self.wrong(one.at, f"'{one.how}' stands in no loop")
            case tree.Block():
                self.block(one)

    def loop(self, body: tree.Statement):
        self.loops.append("loop")
        self.statement(body)
        self.loops.pop()

    def variable(self, one: tree.Variable, fields: bool):
        if one.symbol is None or not fields:
            self.declare_variable(one)
        assert one.symbol
        of = one.symbol.type
        if one.value is not None:
            value = one.value.type or self.expr(one.value)
            if not assignable(of, value):
                self.wrong(one.at, f"{value} cannot be assigned to '{one.name.text}', which is {of}")
            self.capability_taken(one.value)

    def sem(self, one: tree.Sem, fields: bool):
        if not fields:
            self.declare_item(one)
        if one.value is not None:
            of = self.expr(one.value)
            wanted: Type = INT
            if one.dims:
                wanted = Array([Dimension(None, None) for _ in one.dims], INT)
            if not assignable(wanted, of):
                self.wrong(one.value.at, f"a semaphore's first value is {wanted}, not {of}")

    def reply(self, one: tree.Simple):
        if not self.implementing:
            return
        op = self.implementing[-1]
        if op is not None:
            op.apart = True
        elif len(self.implementing) == 1:
            self.resource.replies = True

    def evaluate(self, one: tree.Evaluate):
        e = one.expression
        if isinstance(e, tree.Call):
            self.call(e, statement=True)
        elif isinstance(e, tree.Assign | tree.Create):
            self.expr(e)
        else:
            self.expr(e)
            self.wrong(e.at, "this is no statement: nothing is done with its value")

    def invoke(self, one: tree.Invoke):
        call = one.call
        if not isinstance(call, tree.Call):
            self.expr(call)
            self.wrong(call.at, f"{one.how} wants an operation and its arguments")
            return
        if isinstance(call.function, tree.Use):
            symbol = self.scope.find(call.function.name.text)
            if symbol and symbol.kind == "function":
                if one.how == "call":
                    self.call(call, statement=True)
                else:
                    self.wrong(call.at, f"'{symbol.name}' is a predefined function: it can only be called")
                return
        signature = self.invocation(call, one.how)
        if signature is None:
            return
        if one.how == "forward":
            around = self.implementing[-1] if self.implementing else None
            if around is None:
                self.wrong(one.at, "forward stands in no operation's code")
                return
            around.apart = True
            around.no_semaphore = around.no_semaphore or "its invocations are forwarded"
            if around.signature.result is not None and signature.result is None:
                self.wrong(one.at, "what is forwarded to returns nothing, and the invocation wants a result")
            elif not same(around.signature.result, signature.result) and around.signature.result:
                self.wrong(one.at, f"what is forwarded to returns {signature.result}, not {around.signature.result}")
            elif isinstance(around.signature.result, String) and around.signature.result != signature.result:
                self.wrong(one.at, "what is forwarded to returns a string of another maximum length")
        if one.how == "send" and any(formal.mode == "ref" for formal in signature.formals):
            self.wrong(call.at, f"{self.called(call)} has parameters by reference: send would leave them without their "
                                "variables")

    def receive(self, one: tree.Receive):
        if not isinstance(one.call, tree.Call):
            self.expr(one.call)
            self.wrong(one.call.at, "receive wants an operation and variables: receive name(variables)")
            return
        one.op, one.signature = self.input_target(one.call.function)
        signature = one.signature
        if signature is None:
            for argument in one.call.arguments:
                self.expr(argument)
            return
        if one.call.arguments and one.op:
            one.op.no_semaphore = one.op.no_semaphore or "it has parameters"
        if signature.result is not None:
            self.wrong(one.call.at, f"{self.called(one.call)} returns a result: an input statement serves it")
        if len(one.call.arguments) != len(signature.formals):
            self.wrong(one.call.at, f"{self.called(one.call)} has {len(signature.formals)} parameters, not "
                                    f"{len(one.call.arguments)}")
        for argument, formal in zip(one.call.arguments, signature.formals, strict=False):
            of = self.variable_of(argument)
            if formal.mode in ("var", "res"):
                self.wrong(argument.at, f"parameter '{formal.name}' is copied back: an input statement serves it")
            if not assignable(of, formal.type):
                self.wrong(argument.at, f"parameter '{formal.name}' is {formal.type}, the variable {of}")

    def semaphore(self, one: tree.Semaphore):
        if one.how == "P":
            op, signature = self.input_target(one.of)
        else:
            op, signature = self.target(one.of, "V")
        one.op = op
        if signature is not None and (signature.formals or signature.result):
            self.wrong(one.of.at, f"{self.name_of(one.of)} is no semaphore: it has parameters or a result")
        if op:
            op.invoked = True

    def quantified(self, quantifiers: Sequence[tree.Quantifier], then: Callable[[], None]):
        for one in quantifiers:
            of = self.expr(one.first)
            if of is not None and not discrete(of):
                self.wrong(one.first.at, f"a quantifier's bound is int, char, bool or of an enumeration, not {of}")
                of = INT
            last = self.expr(one.last)
            if last is not None and of is not None and not same(of, last):
                self.wrong(one.last.at, f"a quantifier's bounds are of one type, not {of} and {last}")
            if one.step:
                self.expect(one.step, INT, "a quantifier's step")
            one.symbol = self.local(one.name, "variable", of, self.of_quantifier(one))
            if one.such_that:
                self.expect(one.such_that, BOOL, "a condition")
        then()

    def co(self, one: tree.Co):
        for arm in one.arms:
            scope, in_code = self.scope, self.in_code
            self.scope, self.in_code = Scope(scope), True
            if len(arm.quantifiers) > CO_QUANTIFIERS:
                self.wrong(arm.quantifiers[CO_QUANTIFIERS].name.at,
                           f"an arm of co has at most {CO_QUANTIFIERS} quantifiers")
            self.quantified(arm.quantifiers, partial(self.co_arm, arm))
            self.scope, self.in_code = scope, in_code

    def co_arm(self, arm: tree.CoArm):
        call = arm.call
        if not isinstance(call, tree.Call) or isinstance(call.function, tree.TypeName):
            self.expr(call)
            self.wrong(call.at, "an arm of co is an invocation")
        else:
            signature = self.invocation(call, "co " + arm.how)
            if call.op and call.op.implemented == "external":
                self.wrong(call.at, f"{self.called(call)} is external: it can only be called")
            if arm.to is not None:
                of = self.variable_of(arm.to)
                if signature is not None and signature.result is None:
                    self.wrong(call.at, f"{self.called(call)} returns nothing")
                elif signature is not None and not assignable(of, signature.result):
                    self.wrong(arm.to.at, f"{signature.result} cannot be assigned to a variable that is {of}")
        if arm.then:
            self.loops.append("co")
            self.block(arm.then)
            self.loops.pop()

    def input(self, one: tree.In):
        simple = len(one.arms) == 1 and one.otherwise is None
        for arm in one.arms:
            scope, in_code = self.scope, self.in_code
            self.scope, self.in_code = Scope(scope), True
            self.arms += 1
            arm.number = self.arms
            self.quantified(arm.quantifiers, partial(self.in_arm, arm, simple))
            self.scope, self.in_code = scope, in_code
        if one.otherwise:
            self.block(one.otherwise)

    def in_arm(self, arm: tree.InArm, simple: bool):
        arm.op, arm.signature = self.input_target(arm.call.function)
        signature = arm.signature
        if arm.op and not (simple and not arm.quantifiers and arm.such_that is None and arm.by is None):
            arm.op.no_semaphore = arm.op.no_semaphore or "an input statement chooses among its invocations"
        names = []
        for argument in arm.call.arguments:
            if isinstance(argument, tree.Use):
                names.append(argument.name)
            else:
                self.wrong(argument.at, "the name of a parameter stands here")
        if signature is not None:
            if len(arm.call.arguments) != len(signature.formals):
                self.wrong(arm.call.at, f"{self.called(arm.call)} has {len(signature.formals)} parameters, not "
                                        f"{len(arm.call.arguments)}")
            if (arm.result is not None) != (signature.result is not None):
                self.wrong(arm.call.at, f"{self.called(arm.call)} returns "
                                        f"{'a result' if signature.result else 'nothing'}")
        for number, name in enumerate(names):
            formal = signature.formals[number] if signature and number < len(signature.formals) else None
            why = ""
            if formal and isinstance(formal.type, String) and formal.type.maximum is None and formal.mode == "val":
                why = f"'{name.text}' is a string of any length, by value"
            symbol = self.declare(Symbol(name.text, "variable", name.at, formal.type if formal else None,
                                         f"b_{arm.number}->a_{number}", why))
            symbol.by_reference = bool(formal and formal.mode == "ref")
        if arm.result:
            self.declare(Symbol(arm.result.text, "variable", arm.result.at, signature.result if signature else None,
                                f"b_{arm.number}->result"))
        if arm.such_that:
            self.expect(arm.such_that, BOOL, "what follows 'st'")
        if arm.by:
            of = self.expr(arm.by)
            if of is not None and not ordered(of):
                self.wrong(arm.by.at, f"what follows 'by' is of an ordered type, not {of}")
        # A capability's operation has the same signature, and what it is cannot be known here.
        self.implementing.append(arm.op or Op(Name("", arm.at), signature or Signature([], None), self.resource))
        self.loops.append("in")
        self.block(arm.body)
        self.loops.pop()
        self.implementing.pop()

    # Names

    def find(self, name: Name) -> Symbol | None:
        symbol = self.scope.find(name.text)
        if symbol is None:
            if name.text in NOT_YET:
                self.wrong(name.at, f"'{name.text}': {NOT_YET[name.text]} cannot be compiled yet")
            else:
                self.wrong(name.at, f"'{name.text}' is not declared")
        return symbol

    def symbol_of(self, e: tree.Expression) -> Symbol | None:
        """The symbol of a name, or of a component's name; None and a mistake if there is none."""
        if isinstance(e, tree.Use):
            e.symbol = self.find(e.name)
            return e.symbol
        assert isinstance(e, tree.Field) and isinstance(e.of, tree.Use)
        component = self.scope.find(e.of.name.text)
        if component is None:
            self.find(e.of.name)
            return None
        if component.kind not in ("resource", "global"):
            self.wrong(e.of.at, f"'{component.name}' is no component")
            return None
        return self.component_symbol(component, e)

    def component_symbol(self, component: Symbol, e: tree.Field) -> Symbol | None:
        assert component.resource
        symbol = self.specs[component.resource].names.get(e.name.text)
        if symbol is None:
            self.wrong(e.name.at, f"'{component.name}' exports no '{e.name.text}'")
        e.symbol = symbol
        return symbol

    @staticmethod
    def name_of(e: tree.Expression) -> str:
        match e:
            case tree.Use() | tree.Field():
                return f"'{e.name.text}'"
            case tree.Index():
                return Checker.name_of(e.of)
        return "this"

    def called(self, call: tree.Call) -> str:
        return self.name_of(call.function)

    def target(self, e: tree.Expression, how: str) -> tuple[Op | None, Signature | None]:
        """The operation that an expression names, if it does, and its signature. `how` it is used: V and send leave it
        a semaphore, all else does not."""
        named = e
        bounds: list[tree.Bounds] = []
        while isinstance(named, tree.Index):
            bounds = [*named.bounds, *bounds]
            named = named.of
        symbol: Symbol | None = None
        if isinstance(named, tree.Use):
            symbol = self.scope.find(named.name.text)
        elif isinstance(named, tree.Field) and isinstance(named.of, tree.Use):
            component = self.scope.find(named.of.name.text)
            if component and component.kind in ("resource", "global"):
                symbol = self.component_symbol(component, named)
                if symbol is None:
                    return None, None
        if symbol is None or symbol.kind != "op":
            of = self.expr(e)
            if of is None:
                return None, None
            if isinstance(of, Capability):
                return None, of.of
            if isinstance(of, Signature):       # of a resource's capability
                return None, of
            self.wrong(e.at, f"{self.name_of(e)} is no operation")
            return None, None
        op = symbol.op
        assert op
        if isinstance(named, tree.Use):
            named.symbol = symbol
        if op.resource is not self.resource and op.resource.kind != "global":
            self.wrong(e.at, f"'{op.name.text}' is an operation of a resource: a capability names which one")
            return None, None
        self.subscripts(e, op, bounds)
        if op.is_process:
            self.wrong(e.at, f"'{op.name.text}' is a process, it cannot be invoked")
            return None, None
        if how not in ("V", "send", "?", "input"):
            op.no_semaphore = op.no_semaphore or "it is called, or its capability is taken"
        op.invoked = True
        e.type = op.signature
        named.type = symbol.type
        return op, op.signature

    def subscripts(self, e: tree.Expression, op: Op, bounds: list[tree.Bounds]):
        wanted = len(op.dims.dims) if op.dims else 0
        if len(bounds) != wanted:
            self.wrong(e.at, f"'{op.name.text}' has {wanted} subscripts, not {len(bounds)}")
        for number, one in enumerate(bounds):
            if one.kind != "one" or one.last is None:
                self.wrong(one.at, "an operation is one of its array: a subscript stands here")
            else:
                of = self.expr(one.last)
                expected = op.dims.dims[number].of if op.dims and number < wanted else INT
                if not same(of, expected):
                    self.wrong(one.at, f"a subscript is {expected}, not {of}")

    def input_target(self, e: tree.Expression) -> tuple[Op | None, Signature | None]:
        op, signature = self.target(e, "input")
        if op is None:
            return op, signature
        if op.implemented in ("proc", "external"):
            self.wrong(e.at, f"'{op.name.text}' has its code already")
        else:
            op.implemented = "in"
        return op, signature

    def invocation(self, call: tree.Call, how: str) -> Signature | None:
        op, signature = self.target(call.function, "send" if how == "send" and not call.arguments else how)
        call.kind, call.op, call.signature = "op", op, signature
        if op and op.implemented == "external" and how != "call":
            self.wrong(call.at, f"{self.called(call)} is external: it can only be called")
        if signature is None:
            for argument in call.arguments:
                self.expr(argument)
            return None
        call.type = signature.result
        kind = "send" if how.endswith("send") else "call" if how != "forward" else ""
        if signature.restriction and kind and kind != signature.restriction and not (op and op.is_sem):
            self.wrong(call.at, f"{self.called(call)} can only be invoked by {signature.restriction}")
        self.check_arguments(call.at, self.called(call), call.arguments, signature.formals)
        if how == "co send" and any(formal.mode == "ref" for formal in signature.formals):
            self.wrong(call.at, f"{self.called(call)} has parameters by reference: send would leave them without their "
                                "variables")
        return signature

    def check_arguments(self, at: Position, called: str, arguments: Sequence[tree.Expression],
                        formals: Sequence[Formal]):
        if len(arguments) != len(formals):
            self.wrong(at, f"{called} takes {len(formals)} arguments, not {len(arguments)}")
        for number, argument in enumerate(arguments):
            formal = formals[number] if number < len(formals) else None
            if formal and formal.mode != "val":
                of = self.variable_of(argument, by_reference=True)
                self.whole(argument)
                name = f"parameter '{formal.name}'" if formal.name else f"parameter {number + 1}"
                fits = same(formal.type, of) and not (formal.type == REAL and of == INT)
                if not fits:
                    self.wrong(argument.at, f"{name} is {formal.type}, not {of}")
                continue
            of = self.expr(argument)
            self.capability_taken(argument)
            if formal and not assignable(formal.type, of):
                name = f"parameter '{formal.name}'" if formal.name else f"parameter {number + 1}"
                self.wrong(argument.at, f"{name} is {formal.type}, not {of}")

    def capability_taken(self, e: tree.Expression):
        """An operation's name is a value: that of its capability."""
        if isinstance(e.type, Signature):
            named = e
            while isinstance(named, tree.Index):
                named = named.of
            symbol = getattr(named, "symbol", None)
            if symbol and symbol.op:
                symbol.op.no_semaphore = symbol.op.no_semaphore or "its capability is taken"
                symbol.op.taken = True

    # Expressions

    def expect(self, e: tree.Expression, of: Type, what: str):
        found = self.expr(e)
        if found is not None and not assignable(of, found):
            self.wrong(e.at, f"{what} is {of}, not {found}")

    def variable_of(self, e: tree.Expression, by_reference: bool = False) -> Type | None:
        """The type of a variable, or of a part of one; a mistake if it is none or cannot be assigned to."""
        of = self.expr(e)
        at: tree.Expression = e
        while True:
            match at:
                case tree.Use() | tree.Field(symbol=Symbol()):
                    symbol = at.symbol
                    if symbol is None:
                        return of
                    if symbol.kind != "variable" or symbol.why_constant:
                        why = symbol.why_constant or f"'{symbol.name}' is no variable"
                        self.wrong(at.at, f"{why}: it cannot be assigned to")
                        return None
                    return of
                case tree.Field():
                    at = at.of
                case tree.Index():
                    at = at.of
                case tree.Dereference():
                    return of
                case _:
                    if of is not None or isinstance(at, tree.Call):
                        self.wrong(e.at, "a variable stands here" if by_reference else "this cannot be assigned to")
                    return None

    def expr(self, e: tree.Expression) -> Type | None:
        e.type = self.find_type(e)
        return e.type

    def find_type(self, e: tree.Expression) -> Type | None:
        match e:
            case tree.Literal(value=bool()):
                return BOOL
            case tree.Literal(value=int()):
                return INT
            case tree.Literal(value=float()):
                return REAL
            case tree.Literal():
                return CHAR if e.is_char else String(len(str(e.value)))
            case tree.Null():
                return NULL
            case tree.Use():
                return self.use(e, self.find(e.name))
            case tree.TypeName():
                self.wrong(e.at, f"'{e.name}' is a type: it has no value")
                return None
            case tree.Unary():
                return self.unary(e)
            case tree.Binary():
                return self.binary(e)
            case tree.Assign():
                return self.assign(e)
            case tree.Call():
                return self.call(e)
            case tree.Index():
                return self.index(e)
            case tree.Field():
                return self.field_of(e)
            case tree.Dereference():
                of = self.expr(e.of)
                if of is None:
                    return None
                if not isinstance(of, Pointer):
                    self.wrong(e.at, f"{of} is no pointer")
                    return None
                if of.to == ANY:
                    self.wrong(e.at, "what 'ptr any' points to has no type")
                    return None
                return of.to
            case tree.Create():
                return self.create(e)
            case tree.Constructor():
                return self.constructor(e)
        raise AssertionError(e)

    def use(self, e: tree.Use | tree.Field, symbol: Symbol | None) -> Type | None:
        e.symbol = symbol
        if symbol is None:
            return None
        if symbol.kind in ("variable", "constant", "literal"):
            return symbol.type
        if symbol.kind == "op" and symbol.op:
            op = symbol.op
            if op.implemented == "external" or op.is_process:
                self.wrong(e.at, f"'{symbol.name}' has no capability")
                return None
            if op.resource is not self.resource and op.resource.kind != "global":
                self.wrong(e.at, f"'{op.name.text}' is an operation of a resource: a capability names which one")
                return None
            op.no_semaphore = op.no_semaphore or "its capability is taken"
            op.taken = op.invoked = True
            return symbol.type
        self.wrong(e.at, f"'{symbol.name}' has no value")
        e.symbol = None
        return None

    def unary(self, e: tree.Unary) -> Type | None:
        what = f"the operand of '{e.operator}'"
        if e.operator == "?":
            _, signature = self.target(e.operand, "?")
            return INT
        if e.operator == "@":
            of = self.variable_of(e.operand, by_reference=True)
            if isinstance(of, Array) or isinstance(of, String) and of.maximum is None:
                self.pointed(e.at, of)
                return None
            return Pointer(of) if of is not None else None
        of = self.expr(e.operand)
        if of is None:
            return INT if e.operator in "+-" else None
        if e.operator in "+-":
            if of not in (INT, REAL):
                self.wrong(e.operand.at, f"{what} is int or real, not {of}")
                return None
            return of
        if of not in (BOOL, INT):
            self.wrong(e.operand.at, f"{what} is bool or int, not {of}")
            return None
        return of

    def binary(self, e: tree.Binary) -> Type | None:
        left, right = self.expr(e.left), self.expr(e.right)
        if e.operator in SAME | ORDER:
            self.compare(e, left, right)
            return BOOL
        return self.operation(e.at, e.operator, left, right, e.left.at, e.right.at)

    def compare(self, e: tree.Binary, left: Type | None, right: Type | None):
        for side in (e.left, e.right):
            if isinstance(side.type, Signature):
                self.capability_taken(side)
        if left is None or right is None:
            return
        a, b = (Capability(one) if isinstance(one, Signature) else one for one in (left, right))
        fits = assignable(a, b) or assignable(b, a)
        text = {CHAR}
        if not fits or (a in text) != (b in text) and (isinstance(a, String) or isinstance(b, String)):
            self.wrong(e.at, f"{a} and {b} cannot be compared")
        elif isinstance(a, Array | Record) or isinstance(b, Array | Record):
            self.wrong(e.at, f"{a} cannot be compared")
        elif e.operator in ORDER and not all(ordered(one) or isinstance(one, String) for one in (a, b)):
            self.wrong(e.at, f"{a} has no order")

    def operation(self, at: Position, operator: str, left: Type | None, right: Type | None, left_at: Position,
                  right_at: Position) -> Type | None:
        what = f"an operand of '{operator}'"
        if operator == "||":
            for of, where in ((left, left_at), (right, right_at)):
                if of is not None and of != CHAR and not isinstance(of, String):
                    self.wrong(where, f"{what} is string or char, not {of}")
            return String()
        if operator in BITS:
            for of, where in ((left, left_at), (right, right_at)):
                if of is not None and of not in (BOOL, INT):
                    self.wrong(where, f"{what} is bool or int, not {of}")
                    return None
            if left is not None and right is not None and left != right:
                self.wrong(at, f"the operands of '{operator}' are {left} and {right}")
                return None
            return left or right
        if operator in SHIFTS or operator == "mod":
            for of, where in ((left, left_at), (right, right_at)):
                if of is not None and of != INT and not (operator == "mod" and of == REAL):
                    self.wrong(where, f"{what} is int, not {of}")
                    return INT
            return REAL if REAL in (left, right) else INT
        if isinstance(left, Pointer) and operator in "+-":
            if left.to == ANY:
                self.wrong(at, "'ptr any' has no arithmetic")
            if operator == "-" and isinstance(right, Pointer) and same(left, right):
                return INT
            if right is not None and right != INT:
                self.wrong(right_at, f"{what} is int, not {right}")
            return left
        for of, where in ((left, left_at), (right, right_at)):
            if of is not None and of not in (INT, REAL):
                self.wrong(where, f"{what} is int or real, not {of}")
                return None
        if left is None or right is None:
            return None
        return REAL if REAL in (left, right) else INT

    def assign(self, e: tree.Assign) -> Type | None:
        if e.operator and isinstance(e.value, tree.Literal) and e.value.value == 1 and e.value.at == e.at:
            return self.step(e)
        to = self.variable_of(e.to)
        value = self.expr(e.value)
        self.capability_taken(e.value)
        if e.operator and to is not None and value is not None:
            value = self.operation(e.at, e.operator, to, value, e.to.at, e.value.at)
        if not assignable(to, value):
            name = self.name_of(e.to)
            self.wrong(e.at, f"{value} cannot be assigned to {name if name != 'this' else 'a variable'}, "
                             f"which is {to}")
        return to

    def step(self, e: tree.Assign) -> Type | None:
        """++ and --."""
        to = self.variable_of(e.to)
        e.value.type = INT
        if to is not None and not ordered(to) and not (isinstance(to, Pointer) and to.to != ANY):
            self.wrong(e.at, f"{to} has no '{e.operator}{e.operator}'")
        return to

    def call(self, e: tree.Call, statement: bool = False) -> Type | None:
        function = e.function
        if isinstance(function, tree.TypeName):
            if statement:
                self.wrong(e.at, "this is no statement: nothing is done with its value")
            return self.conversion(e, self.resolve(function))
        if isinstance(function, tree.Use):
            symbol = self.scope.find(function.name.text)
            if symbol and symbol.kind == "function":
                function.symbol = symbol
                e.kind = "predefined"
                of = self.predefined_call(e, symbol.name)
                if of is None and not statement and FUNCTIONS[symbol.name].gives is None:
                    self.wrong(e.at, f"'{symbol.name}' returns nothing")
                e.type = of
                return of
        symbol = None
        if isinstance(function, tree.Use):
            symbol = self.scope.find(function.name.text)
        elif isinstance(function, tree.Field) and isinstance(function.of, tree.Use):
            component = self.scope.find(function.of.name.text)
            if component and component.resource:
                symbol = self.specs[component.resource].names.get(function.name.text)
        if symbol and symbol.kind == "type":
            if statement:
                self.wrong(e.at, "this is no statement: nothing is done with its value")
            of = self.resolve(function)
            if isinstance(of, Record):
                return self.record(e, of)
            return self.conversion(e, of)
        signature = self.invocation(e, "call")
        if signature is None:
            return None
        if signature.result is None and not statement:
            self.wrong(e.at, f"{self.called(e)} returns nothing")
        return signature.result

    def conversion(self, e: tree.Call, to: Type | None) -> Type | None:
        e.kind = "conversion"
        types = [self.expr(argument) for argument in e.arguments]
        if to is None:
            return None
        if len(types) != 1:
            self.wrong(e.at, f"a conversion takes one value, not {len(types)}")
            return to
        of = types[0]
        basic: tuple[Type, ...] = (INT, BOOL, CHAR, REAL)

        def convertible(one: Type) -> bool:
            return one in basic or isinstance(one, Enum | String)
        if of is not None and not (convertible(of) and convertible(to)) and not (isinstance(to, Pointer) and isinstance(
                of, Pointer)):
            self.wrong(e.at, f"there is no conversion from {of} to {to}")
        return String() if isinstance(to, String) else to

    def record(self, e: tree.Call, of: Record) -> Type:
        e.kind = "record"
        wanted = of.fields[:1] if of.union else of.fields
        if len(e.arguments) != len(wanted):
            self.wrong(e.at, f"{of} has {len(wanted)} fields, not {len(e.arguments)}")
        for argument, (name, field_type) in zip(e.arguments, wanted, strict=False):
            found = self.expr(argument)
            self.capability_taken(argument)
            if not assignable(field_type, found):
                self.wrong(argument.at, f"field '{name}' is {field_type}, not {found}")
        return of

    def index(self, e: tree.Index) -> Type | None:
        of = self.expr(e.of)
        if isinstance(of, String):
            if len(e.bounds) != 1:
                self.wrong(e.at, "a string has one subscript")
            one = e.bounds[0]
            for side in (one.first, one.last):
                if side is not None:
                    self.expect(side, INT, "a subscript")
            return CHAR if one.kind == "one" else String()
        if of is None:
            for one in e.bounds:
                for side in (one.first, one.last):
                    if side is not None:
                        self.expr(side)
            return None
        if not isinstance(of, Array):
            self.wrong(e.at, f"{self.name_of(e.of)} is no array")
            return None
        if len(e.bounds) > len(of.dims):
            self.wrong(e.at, f"{self.name_of(e.of)} has {len(of.dims)} dimensions, not {len(e.bounds)}")
            return None
        left = []
        for one, dim in zip(e.bounds, of.dims, strict=False):
            for side in (one.first, one.last):
                if side is not None:
                    found = self.expr(side)
                    if not same(found, dim.of):
                        self.wrong(side.at, f"a subscript is {dim.of}, not {found}")
            if one.kind != "one":
                left.append(Dimension(None, None, INT))
        left += [Dimension(None, None, INT) for _ in of.dims[len(e.bounds):]]
        if not left:
            return of.of
        if isinstance(of.of, Signature):
            self.wrong(e.at, "operations have no slices")
            return None
        return Array(left, of.of)

    def field_of(self, e: tree.Field) -> Type | None:
        if isinstance(e.of, tree.Use):
            symbol = self.scope.find(e.of.name.text)
            if symbol and symbol.kind in ("resource", "global"):
                return self.use(e, self.component_symbol(symbol, e))
        of = self.expr(e.of)
        if of is None:
            return None
        if isinstance(of, ResourceCapability):
            for op in of.of.exports:
                if op.name.text == e.name.text:
                    e.place = op.export
                    op.invoked = True
                    return Array(op.dims.dims, op.signature) if op.dims else op.signature
            self.wrong(e.name.at, f"'{of.of.name.text}' exports no operation '{e.name.text}'")
            return None
        if not isinstance(of, Record):
            self.wrong(e.at, f"{of} has no fields")
            return None
        found = of.field(e.name.text)
        if found is None:
            self.wrong(e.name.at, f"{of} has no field '{e.name.text}'")
        return found

    def create(self, e: tree.Create) -> Type | None:
        symbol = self.scope.find(e.name.text)
        resource = symbol.resource if symbol and symbol.kind == "resource" else None
        if e.on is not None:
            self.uses_vm = True
            on = self.expr(e.on)
            if resource is VM and on is not None and on != INT and not isinstance(on, String):
                self.wrong(e.on.at, f"a virtual machine is created on a node: its number or address, not {on}")
            elif resource is not VM and on is not None and not (isinstance(on, ResourceCapability) and on.of is VM):
                self.wrong(e.on.at, f"a resource is created on a virtual machine, not on {on}")
        elif resource is VM:
            self.wrong(e.name.at, "a virtual machine is created on a node: create vm() on 1")
        if resource is None:
            there = self.by_name.get(e.name.text)
            self.wrong(e.name.at, f"resource '{e.name.text}' is not imported" if there and there.kind == "resource"
                       else f"'{e.name.text}' is no resource")
        elif resource.body is None and not resource.apart and resource is not VM:
            self.wrong(e.name.at, f"resource '{e.name.text}' has no body: there is nothing to create")
        e.resource = resource
        if resource is None:
            for argument in e.arguments:
                self.expr(argument)
            return None
        self.check_arguments(e.name.at, f"'{e.name.text}'", e.arguments,
                             [Formal(one.name, "val", one.type) for one in resource.parameter_symbols])
        return ResourceCapability(resource)

    def constructor(self, e: tree.Constructor) -> Type | None:
        element: Type | None = None
        for repeat, one in e.elements:
            if repeat is not None:
                self.expect(repeat, INT, "how often an element stands there")
            of = self.expr(one)
            self.capability_taken(one)
            if of == NULL and element is None:
                self.wrong(one.at, "null has no type of its own: an array cannot begin with it")
                return None
            if element is None or element == INT and of == REAL:
                element = of
            elif not assignable(element, of):
                self.wrong(one.at, f"an element is {element}, not {of}")
        if element is None:
            return None
        if isinstance(element, Signature):
            element = Capability(element)
        dims = [Dimension(None, None)]
        if isinstance(element, Array):
            if len(element.dims) >= DIMENSIONS:
                self.wrong(e.at, f"an array has at most {DIMENSIONS} dimensions")
                return None
            return Array([*dims, *element.dims], element.of)
        if isinstance(element, String):
            element = String(max([one.type.maximum or LONGEST if isinstance(one.type, String) else 0
                                  for _, one in e.elements]))
        return Array(dims, element)

    # Predefined functions

    def predefined_call(self, e: tree.Call, name: str) -> Type | None:
        function = FUNCTIONS[name]
        if name in ("write", "writes", "put", "read"):
            return self.input_output(e, name)
        if name in ("printf", "sprintf", "scanf", "sscanf"):
            return self.formatted(e, name)
        if name == "get":
            return self.get(e)
        takes = list(function.takes)
        least = sum(not kind.endswith("?") for kind in takes)
        if function.more:
            takes += [takes[-1]] * (len(e.arguments) - len(takes))
        if not least <= len(e.arguments) <= len(takes):
            some = f"{least}" if least == len(takes) else f"{least} to {len(takes)}"
            self.wrong(e.at, f"'{name}' takes {some} arguments, not {len(e.arguments)}")
        types: list[Type | None] = []
        for kind, argument in zip(takes, e.arguments, strict=False):
            types.append(self.predefined_argument(name, kind.rstrip("?"), argument))
        first = types[0] if types else None
        gives = function.gives
        if gives == "same" or gives == "type":
            return first
        if gives == "numbers":
            return REAL if REAL in types else INT
        if gives == "vm" or name in ("locate", "mymachine"):
            self.uses_vm = True
        if gives == "resource":
            if self.resource.kind != "resource":
                self.wrong(e.at, "a global has no capability")
            return ResourceCapability(self.resource)
        if gives == "chars":
            return Array([Dimension(None, None)], CHAR)
        if gives == "vm":
            return ResourceCapability(VM)
        if gives == "pointer":
            return Pointer(first) if first is not None else None
        assert gives is None or isinstance(gives, Type)
        if name in ("lb", "ub") and isinstance(first, Array):
            return self.bound_type(e, first)
        return gives

    def bound_type(self, e: tree.Call, of: Array) -> Type:
        dimension = self.constant_value(e.arguments[1]) if e.arguments[1:] else 1
        if dimension is not None and not 1 <= dimension <= len(of.dims):
            self.wrong(e.at, f"the array has {len(of.dims)} dimensions")
            return INT
        types = {id(dim.of): dim.of for dim in of.dims} if dimension is None else {0: of.dims[dimension - 1].of}
        return next(iter(types.values())) if len(types) == 1 else INT

    def predefined_argument(self, name: str, kind: str, argument: tree.Expression) -> Type | None:
        what = f"an argument of '{name}'"
        if kind == "type":
            of = self.resolve(argument)
            if of is not None and name != "new" and not ordered(of):
                self.wrong(argument.at, f"{what} is an ordered type, not {of}")
                return None
            if name == "new" and (isinstance(of, Array) or isinstance(of, String) and of.maximum is None):
                self.pointed(argument.at, of)
                return None
            return of
        if kind == "variable":
            return self.readable(argument)
        of = self.expr(argument)
        if of is None:
            return None
        fits = {"int": of == INT, "real": of in (INT, REAL), "number": of in (INT, REAL), "bool": of == BOOL,
                "string": isinstance(of, String), "file": of == FILE, "array": isinstance(of, Array),
                "discrete": discrete(of), "pointer": isinstance(of, Pointer) or of == NULL,
                "basic": of in (INT, REAL, BOOL, CHAR) or isinstance(of, String)}[kind]
        if not fits:
            wanted = {"number": "int or real", "discrete": "of an ordered type other than real", "array": "an array",
                      "pointer": "a pointer", "basic": "of a basic type"}.get(kind, kind)
            self.wrong(argument.at, f"{what} is {wanted}, not {of}")
            return None
        return of

    def whole(self, argument: tree.Expression):
        """A part of a string can be assigned to, but its length stays."""
        if isinstance(argument, tree.Index) and isinstance(argument.of.type, String) and \
                argument.bounds[0].kind != "one":
            self.wrong(argument.at, "a part of a string stands where a variable should")

    def readable(self, argument: tree.Expression) -> Type | None:
        of = self.variable_of(argument)
        self.whole(argument)
        if of is not None and of not in (INT, REAL, BOOL, CHAR) and not isinstance(of, String):
            self.wrong(argument.at, f"{of} cannot be read")
        return of

    def input_output(self, e: tree.Call, name: str) -> Type | None:
        for number, argument in enumerate(e.arguments):
            if name == "read":
                if number == 0:
                    of = self.expr(argument)
                    if of == FILE:
                        continue
                self.readable(argument)
                continue
            of = self.expr(argument)
            if of == FILE and number == 0:
                continue
            if self.is_chars(of):
                continue
            if name == "put" and of is not None and of != CHAR and not isinstance(of, String):
                self.wrong(argument.at, f"what is put is a string, not {of}")
                continue
            if of is not None and of not in (INT, REAL, BOOL, CHAR) and not isinstance(of, String | Enum | Pointer):
                self.wrong(argument.at, f"{of} cannot be written")
        return INT if name == "read" else None

    @staticmethod
    def is_chars(of: Type | None) -> bool:
        return isinstance(of, Array) and len(of.dims) == 1 and of.of == CHAR

    def formatted(self, e: tree.Call, name: str) -> Type | None:
        """printf([file,] format, values), sprintf(string, format, values), and the same with variables to be read."""
        rest = list(e.arguments)
        reads = name in ("scanf", "sscanf")
        if name in ("printf", "scanf") and rest and self.expr(rest[0]) == FILE:
            rest.pop(0)
        elif name in ("sprintf", "sscanf") and rest:
            first = rest.pop(0)
            of = self.readable(first) if name == "sprintf" else self.expr(first)
            if of is not None and not isinstance(of, String):
                self.wrong(first.at, f"an argument of '{name}' is string, not {of}")
        if not rest:
            self.wrong(e.at, f"'{name}' has no format")
            return INT if reads else None
        self.expect(rest[0], String(), "a format")
        for one in rest[1:]:
            of = self.readable(one) if reads else self.expr(one)
            if not (of is None or of in (INT, REAL, BOOL, CHAR) or isinstance(of, String) or
                    not reads and (isinstance(of, Enum) or self.is_chars(of))):
                self.wrong(one.at, f"an argument of '{name}' is of a basic type, not {of}")
        return INT if reads else None

    def get(self, e: tree.Call) -> Type:
        rest = list(e.arguments)
        if rest and self.expr(rest[0]) == FILE:
            rest.pop(0)
        if len(rest) != 1:
            self.wrong(e.at, f"'get' reads into one variable, not {len(rest)}")
        for one in rest:
            of = self.variable_of(one)
            self.whole(one)
            if of is not None and not isinstance(of, String) and not self.is_chars(of):
                self.wrong(one.at, f"'get' reads into a string or an array of characters, not {of}")
        return INT


def check(components: Sequence[Resource]) -> tuple[Resource, list[Record], bool]:
    """Fills the tree in; the main resource, the records in the order in which C wants them, and whether there are
    virtual machines. CompileError with all mistakes that there are."""
    checker = Checker(components)
    main = checker.run()
    return main, checker.records, checker.uses_vm


__all__ = ["CO_QUANTIFIERS", "Basic", "check", "predefined", "same_signature"]
