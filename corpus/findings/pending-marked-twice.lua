-- The finding of pending-marked-twice.pen in plain Lua: 5.2.4 never comes back
-- from the collection.
local metatable = setmetatable({}, {__gc = function() end})
local file = io.tmpfile()
debug.setmetatable(file, metatable)
file, metatable = nil, nil
collectgarbage()
print("done")
