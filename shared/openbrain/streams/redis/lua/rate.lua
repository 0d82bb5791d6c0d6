-- A bucket of tokens that fills with time: takes at most what was wanted, at least what is needed, or nothing.
local bucket = KEYS[1]
local per_minute, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local needed, wanted = tonumber(ARGV[3]), tonumber(ARGV[4])

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stored = redis.call('HMGET', bucket, 'tokens', 'at')
local tokens, at = tonumber(stored[1]), tonumber(stored[2])
if not tokens or not at then
  tokens, at = burst, now
end
tokens = math.min(burst, tokens + math.max(0, now - at) * per_minute / 60000000)

local given = 0
if tokens >= needed then
  given = math.max(needed, math.min(wanted, math.floor(tokens)))
  tokens = tokens - given
end
redis.call('HSET', bucket, 'tokens', string.format('%.6f', tokens), 'at', string.format('%.0f', now))
redis.call('PEXPIRE', bucket, math.ceil(burst / per_minute * 60000) + 1000)
return {given, string.format('%.6f', tokens)}
