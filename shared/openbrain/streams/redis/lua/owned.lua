-- Stands before the scripts that may only touch what the caller still holds.
local stream, states = KEYS[1], KEYS[2]
local group, me = ARGV[1], ARGV[2]

local function held()
  local mine = {}
  for _, entry in ipairs(redis.call('XPENDING', stream, group, '-', '+', 100000, me)) do
    mine[entry[1]] = true
  end
  return mine
end

local function state(id)
  local text = redis.call('HGET', states, id)
  if not text then return 0, 0, 0, '' end
  local failures, abandonments, first, error = string.match(text, '^(%d+) (%d+) (%d+) (.*)$')
  return tonumber(failures), tonumber(abandonments), tonumber(first), error
end

local function keep_state(id, failures, abandonments, first, error)
  redis.call('HSET', states, id, string.format('%d %d %.0f %s', failures, abandonments, first, error))
end

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
