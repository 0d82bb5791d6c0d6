-- KEYS: streams. Answers the last id that each has given, '' where there is none.
local tops = {}
for i, stream in ipairs(KEYS) do
  tops[i] = ''
  local about = redis.pcall('XINFO', 'STREAM', stream)
  for place = 1, #about, 2 do
    if about[place] == 'last-generated-id' then
      tops[i] = about[place + 1]
    end
  end
end
return tops
