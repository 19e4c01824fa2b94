-- What a script expects of Lua: each check is one line. ... is a file of the lines "line 0" to "line 19".
local checks, failed = 0, 0
local function check(right, what)
    checks = checks + 1
    if not right then
        failed = failed + 1
        print("wrong: " .. what)
    end
end

-- numbers
check(7 // 2 == 3 and -7 // 2 == -4 and 7 % -3 == -2 and 7 / 2 == 3.5, "division")
check(math.maxinteger + 1 == math.mininteger and 1 << 62 == 0x4000000000000000, "integers of 64 bits")
check(string.format("%.14g %d %5.2f %q %x", 2 ^ 53, 3, 2.345, "a\nb", 255) == '9.007199254741e+15 3  2.35 "a\\\nb" ff' or
      string.format("%5.2f", 2.345) == " 2.35", "format")
check(math.tointeger(3.5) == nil and math.tointeger(3.0) == 3 and tonumber("0x1p4") == 16 and math.type(1) == "integer", "conversions")

-- strings and patterns
check(("the quick fox"):gsub("%w+", string.upper) == "THE QUICK FOX", "gsub")
check(select(2, ("abcabc"):gsub("b", "")) == 2 and ("key = value"):match("^(%w+)%s*=%s*(%w+)$") == "key", "match")
check(utf8.char(228, 8364, 128512) == "ä€😀" and utf8.len("ä€😀") == 3, "utf8")
check(string.unpack("<i4", string.pack("<i4", -2)) == -2, "pack")

-- tables, closures, metatables
local sorted, random = {}, 1
for i = 1, 100 do
    random = (random * 1103515245 + 12345) & 0x7fffffff
    sorted[i] = random
end
table.sort(sorted)
local order = true
for i = 2, #sorted do order = order and sorted[i - 1] <= sorted[i] end
check(order, "sort")
local function counter() local n = 0 return function() n = n + 1 return n end end
local a, b = counter(), counter()
a() a()
check(a() == 3 and b() == 1, "closures")
local V = {}
V.__index, V.__add = V, function(x, y) return setmetatable({x[1] + y[1]}, V) end
V.__eq, V.__lt, V.__call = function(x, y) return x[1] == y[1] end, function(x, y) return x[1] < y[1] end, function(x) return x[1] end
local v, w = setmetatable({1}, V), setmetatable({2}, V)
check((v + w)() == 3 and v < w and v ~= w and v + v == w, "metatables")

-- control: coroutines, errors, goto, to-be-closed variables
local function squares(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i * i) end end) end
local sum = 0
for s in squares(20) do sum = sum + s end
check(sum == 2870, "coroutines")
local ok, message = pcall(function() local t = nil; return t.x end)
check(not ok and message:find("attempt to index a nil value"), "errors")
check(select(2, xpcall(error, function(m) return m .. "!" end, "e")) == "e!", "xpcall")
check(not pcall(string.rep, "x", 1 << 40), "memory that is not there is an error")
local closed = false
do local c <close> = setmetatable({}, {__close = function() closed = true end}) end
check(closed, "close")

-- memory: garbage, weak tables, finalizers
local weak, finalized = setmetatable({}, {__mode = "v"}), 0
for i = 1, 50 do weak[i] = {i, ("x"):rep(i)} end
for _ = 1, 10 do setmetatable({}, {__gc = function() finalized = finalized + 1 end}) end
collectgarbage()
collectgarbage()
check(next(weak) == nil and finalized == 10, "the collector")
collectgarbage("generational")
local parts = {}
for i = 1, 100 do parts[#parts + 1] = tostring(i) end
check(#table.concat(parts, ",") == 291, "concat")

-- code and files
check(load("local a, b = ... return a * b")(6, 7) == 42 and load("return +") == nil, "load")
check(load(string.dump(function(x) return x + 1 end))(1) == 2, "dump")
local lines, bytes = 0, 0
for line in io.lines(...) do
    check(line == "line " .. lines, line)
    lines, bytes = lines + 1, bytes + #line + 1
end
local f = assert(io.open(...))
check(f:seek("end") == bytes and f:seek("set", 5) == 5 and f:read("n") == 0 and f:read("L") == "\n", "a file")
f:close()
check(io.open("there is no such file") == nil and os.getenv("NOTHING") == nil and os.time() >= 0 and os.clock() >= 0, "os")
print(("@lua checks=%d failed=%d lines=%d"):format(checks, failed, lines))
os.exit(failed == 0)
