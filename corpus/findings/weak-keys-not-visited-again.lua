-- The finding of weak-keys-not-visited-again.pen in plain Lua: 5.2.4 prints nil,
-- the entry of a key that lives is gone.
collectgarbage("generational")
local weak = setmetatable({}, {__mode = "k"})
local key
local function fill(k, v) weak[k] = v end
(function() fill({}, true) end)()
collectgarbage("step")
key = {};
(function() fill(key, {"alive"}) end)()
collectgarbage("step")
collectgarbage("step")
for i = 1, 100 do local t = {} t[1] = i end
print(weak[key] and weak[key][1])
