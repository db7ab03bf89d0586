-- LuaJIT 2.1: the name of a binary chunk is freed while its reader lets the
-- collector run, and used afterwards.
local s=string.dump((loadstring("error('x')", "=na".."me"..tostring(os.time()))))
collectgarbage() collectgarbage()
local i=0
local f=load(function() i=i+1; collectgarbage() if i>#s then return nil end return s:sub(i,i) end, "=other")
collectgarbage()
for k=1,1000 do local t={tostring(k)..'abcdefgh'} end
print(pcall(f))
