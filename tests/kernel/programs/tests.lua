-- tests.lua FILE: those of Lua's own tests that the file names, a line each, in their portable and soft mode.
_port, _soft, _nomsg = true, true, true
local report, names = print, {}
for name in io.lines((...)) do names[#names + 1] = name end
for _, name in ipairs(names) do
  local ok, why = pcall(dofile, name .. ".lua")
  if not ok then report(why) end
  report(string.format("@lua_test file=%s failed=%d", name, ok and 0 or 1))
end
