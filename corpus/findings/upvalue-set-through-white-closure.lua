-- The finding of upvalue-set-through-white-closure.pen in plain Lua: 5.1.5 frees
-- a table that both closures have as their upvalue, and ends in a crash or says
-- that it is lost.
local function pair()
  local x
  return function() return x end, function() return x end
end
collectgarbage("setstepmul", 1)
for steps = 1, 2000 do
  collectgarbage()
  local f, g = pair()
  for i = 1, steps do
    collectgarbage("step", 0)
  end
  debug.setupvalue(f, 1, {"alive"})
  while not collectgarbage("step", 1) do end
  for i = 1, 100 do local t = {} t[1] = i end
  assert(g()[1] == "alive", "lost")
end
print("kept")
