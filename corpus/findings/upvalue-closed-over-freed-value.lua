-- 5.3.6: as upvalue-closed-over-freed-value.pen, in plain Lua: a use after free
-- while the state closes.
local x
local old = function() return x end
local co = coroutine.create(function()
  local v = {}
  debug.upvaluejoin(old, 1, function() return v end, 1)
  coroutine.yield()
end)
coroutine.resume(co)
KEEP = {old, co}
collectgarbage("setstepmul", 1); collectgarbage("stop")
for i = 1, 3 do collectgarbage("step", 0) end
