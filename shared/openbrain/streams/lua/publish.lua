-- KEYS: a stream for each event. ARGV: the field's name, then the events. Answers the refusal of each, or nothing.
local refusals = {}
for i, stream in ipairs(KEYS) do
  local answer = redis.pcall('XADD', stream, '*', ARGV[1], ARGV[i + 1])
  refusals[i] = answer.err or false
end
return refusals
