-- The finding of marked-by-barrier-unseen.pen in plain Lua: a use after free
-- in 5.4.4, 5.4.9 and 5.5.1.
collectgarbage("generational")
local old = {}
local f
do local x = 1; f = function(v, set) if set then x = v end return x end end
collectgarbage(); collectgarbage()
local g
local function mk()
  local v = {"precious"}
  g = function() return v end
  debug.upvaluejoin(f, 1, g, 1)
  old[1] = v
end
mk()
g = nil
f(nil, true)
for i = 1, 4 do collectgarbage("step") end
print(old[1], old[1][1])
